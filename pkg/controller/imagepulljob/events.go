package imagepulljob

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	listers "kruise.io/kruise/pkg/generated/listers/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagetag"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Indexes of unfinished jobs. runningIndex holds all of them. podSelectorIndex holds those that select nodes by Pods, by
// namespace.
const (
	runningIndex     = "imagepulljob/running"
	podSelectorIndex = "imagepulljob/podSelector"
	runningValue     = "true"
)

// indexRunning indexes unfinished jobs under one value.
func indexRunning(obj any) ([]string, error) {
	if job, ok := obj.(*v1beta1.ImagePullJob); ok && running(job) {
		return []string{runningValue}, nil
	}
	return nil, nil
}

// indexPodSelector indexes unfinished jobs that select nodes by Pods, under their namespace. Pods of other namespaces do not concern
// them.
func indexPodSelector(obj any) ([]string, error) {
	if job, ok := obj.(*v1beta1.ImagePullJob); ok && running(job) && job.Spec.PodSelector != nil {
		return []string{job.Namespace}, nil
	}
	return nil, nil
}

// events finds the jobs that a change affects. Its functions are called by the handlers of informers, so they must be fast and read
// only caches.
type events struct {
	jobs   cache.Indexer
	lister listers.ImagePullJobLister
	// left is called for each tag that was removed from a NodeImage.
	left func(node string, ref imagetag.Reference, version int64)
}

// nodeImage returns the owners of the tags whose spec or status changed, and the jobs that select the node only before or only
// after the change.
func (e *events) nodeImage(before, after metav1.Object) []types.NamespacedName {
	was, _ := before.(*v1beta1.NodeImage)
	is, _ := after.(*v1beta1.NodeImage)
	woken := sets.New[types.NamespacedName]()
	e.owners(was, is, woken)
	// Reports of nodes change no labels, so the jobs that select nodes are not compared for them.
	if was == nil || is == nil || !maps.Equal(was.Labels, is.Labels) {
		e.choosers(was, is, woken)
	}
	return woken.UnsortedList()
}

// owners adds the owners of the tags that differ between two states of a NodeImage. A new one has no earlier state, and a deleted one
// no later state.
func (e *events) owners(was, is *v1beta1.NodeImage, woken sets.Set[types.NamespacedName]) {
	names := sets.New[string]()
	for _, image := range []*v1beta1.NodeImage{was, is} {
		if image != nil {
			names = names.Union(sets.KeySet(image.Spec.Images))
		}
	}
	for name := range names {
		old, current := entryOf(was, name), entryOf(is, name)
		// Secrets and sandbox settings belong to the entry, so a change of them concerns all its tags.
		entryChanged := !apiequality.Semantic.DeepEqual(old.PullSecrets, current.PullSecrets) ||
			!apiequality.Semantic.DeepEqual(old.SandboxConfig, current.SandboxConfig)
		for _, tag := range slices.Concat(old.Tags, current.Tags) {
			ref := imagetag.Reference{Name: name, Tag: tag.Tag}
			if !entryChanged && sameTag(was, is, ref) {
				continue
			}
			if was != nil && is != nil && ref.Wanted(is) == nil {
				// If the job asks again, its version must be higher than this one. A NodeImage that is deleted with its node leaves
				// nothing to remember.
				e.left(is.Name, ref, tag.Version)
			}
			for i := range tag.OwnerReferences {
				e.wake(&tag.OwnerReferences[i], woken)
			}
		}
	}
}

// entryOf returns an entry of a NodeImage, or an empty one if the NodeImage is nil.
func entryOf(image *v1beta1.NodeImage, name string) v1beta1.ImageSpec {
	if image == nil {
		return v1beta1.ImageSpec{}
	}
	return image.Spec.Images[name]
}

// sameTag reports whether neither the spec nor the status of a tag changed.
func sameTag(was, is *v1beta1.NodeImage, ref imagetag.Reference) bool {
	if was == nil || is == nil {
		return false
	}
	return apiequality.Semantic.DeepEqual(ref.Wanted(was), ref.Wanted(is)) &&
		apiequality.Semantic.DeepEqual(ref.Reported(was), ref.Reported(is))
}

// wake adds the owner if it is an unfinished job. Finished jobs have their counts already.
func (e *events) wake(owner *corev1.ObjectReference, woken sets.Set[types.NamespacedName]) {
	if !imagetag.IsJob(owner) {
		return
	}
	job, err := e.lister.ImagePullJobs(owner.Namespace).Get(owner.Name)
	if err == nil && running(job) {
		woken.Insert(types.NamespacedName{Namespace: job.Namespace, Name: job.Name})
	}
}

// choosers adds the jobs that select the node only before or only after the change. If a node was added or removed, it adds
// every job that selects nodes by Pods: only the reconcile looks up where those Pods run, and nodes change rarely.
func (e *events) choosers(was, is *v1beta1.NodeImage, woken sets.Set[types.NamespacedName]) {
	jobs, err := e.jobs.ByIndex(runningIndex, runningValue)
	if err != nil {
		return
	}
	for _, item := range jobs {
		job, ok := item.(*v1beta1.ImagePullJob)
		if !ok {
			continue
		}
		// A change of labels does not move Pods, so jobs that select by Pods need only the coming and going of nodes.
		bothThere := was != nil && is != nil
		if job.Spec.PodSelector != nil && !bothThere || choosesNode(job, was) != choosesNode(job, is) {
			woken.Insert(types.NamespacedName{Namespace: job.Namespace, Name: job.Name})
		}
	}
}

// choosesNode reports whether a job selects the node by name or labels. Jobs that select nodes by Pods return false, because the node
// itself does not tell.
func choosesNode(job *v1beta1.ImagePullJob, image *v1beta1.NodeImage) bool {
	if image == nil || job.Spec.PodSelector != nil {
		return false
	}
	selector := job.Spec.Selector
	switch {
	case selector == nil:
		return true
	case len(selector.Names) > 0:
		return slices.Contains(selector.Names, image.Name)
	}
	matches, err := metav1.LabelSelectorAsSelector(&selector.LabelSelector)
	return err == nil && matches.Matches(labels.Set(image.Labels))
}

// pod returns the jobs whose set of nodes may change because this Pod was placed on a node, left a node, or changed its labels.
// Changes of readiness and most other changes of Pods return nil after one comparison.
func (e *events) pod(before, after metav1.Object) (woken []types.NamespacedName) {
	was, is := placeOf(before), placeOf(after)
	if was.node == is.node && maps.Equal(was.labels, is.labels) {
		return nil
	}
	// A new Pod has no state before, and a deleted one has none after.
	namespace := was.namespace
	if is.namespace != "" {
		namespace = is.namespace
	}
	jobs, err := e.jobs.ByIndex(podSelectorIndex, namespace)
	if err != nil {
		return nil
	}
	for _, item := range jobs {
		job, ok := item.(*v1beta1.ImagePullJob)
		if !ok {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(&job.Spec.PodSelector.LabelSelector)
		if err == nil && was.chosen(selector) != is.chosen(selector) {
			woken = append(woken, types.NamespacedName{Namespace: job.Namespace, Name: job.Name})
		}
	}
	return woken
}

// place is the node and the labels of an active Pod. The zero value means no node.
type place struct {
	namespace, node string
	labels          labels.Set
}

// placeOf returns the place of a Pod, or the zero value for nil. A Pod that ended has no node here, so its end is a change.
func placeOf(obj metav1.Object) place {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return place{}
	}
	if !podstate.Active(pod) || pod.Spec.NodeName == "" {
		return place{namespace: pod.Namespace}
	}
	return place{namespace: pod.Namespace, node: pod.Spec.NodeName, labels: pod.Labels}
}

// chosen returns the Pod's node if the selector matches the Pod, else "".
func (p place) chosen(selector labels.Selector) string {
	if p.node == "" || !selector.Matches(p.labels) {
		return ""
	}
	return p.node
}

// secretChanged returns the jobs that use or used a copy of a Secret. They repair the copy, and they may be waiting for their
// own write to appear. A copy without users has its own key, see copies.reap.
func secretChanged(before, after metav1.Object) []types.NamespacedName {
	woken := sets.New[types.NamespacedName]()
	for _, secret := range []metav1.Object{before, after} {
		if secret == nil {
			continue
		}
		// The users of both states are queued: one that was removed may wait for this event.
		for _, reference := range referencesOf(secret.GetAnnotations()[pub.ImagePullJobReferencesKey]) {
			if namespace, name, err := cache.SplitMetaNamespaceKey(reference); err == nil {
				woken.Insert(types.NamespacedName{Namespace: namespace, Name: name})
			}
		}
	}
	// This key is that of the copy. reap checks it when its time is over, and forgets it once it is deleted.
	last := after
	if last == nil {
		last = before
	}
	if copied, ok := last.(*corev1.Secret); ok && isUnused(copied) {
		woken.Insert(types.NamespacedName{Namespace: copied.Namespace, Name: copied.Name})
	}
	return woken.UnsortedList()
}
