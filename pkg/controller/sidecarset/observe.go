package sidecarset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/selectorindex"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// view is what a pass observed. Its objects belong to the caches and must not be changed.
type view struct {
	set *v1beta1.SidecarSet
	// pods are the Pods of the SidecarSet, sorted by name.
	pods []podView
	// missing are the names of Pods that were created without injection, sorted. clash says why new Pods like one of them do not get the
	// containers either, or is empty.
	missing []string
	clash   string
	// lookAgain is when the missing Pods must be looked for again, or zero.
	lookAgain time.Duration
	// unfinished is true if the time of the pass was over before all Pods had been written.
	unfinished bool
}

// podView is what a pass decides from about one Pod.
type podView struct {
	*corev1.Pod
	// updated is true if the Pod has the hash of the spec. upgradable is true if only images would have to change and the annotations can
	// be read; it is only set for Pods that are not updated.
	updated, upgradable bool
	// ready is true if the status of the Pod says that the sidecars are ready, and consistent if the node runs them as the spec
	// of the Pod says. Only both together mean that the new containers serve.
	ready, consistent bool
	// applying is true while an earlier upgrade is in progress although the container reports that it is ready.
	applying bool
}

// observe reads the Pods of a SidecarSet from the caches, and judges each of them once. All decisions of the pass are made from the
// result.
func (r *Reconciler) observe(set *v1beta1.SidecarSet) (*view, error) {
	pods, err := r.matched(set)
	if err != nil {
		return nil, err
	}
	v := &view{set: set, pods: make([]podView, 0, len(pods))}
	// The names are the same for all Pods.
	names := sidecar.PodNames(set)
	for _, pod := range pods {
		one := podView{Pod: pod, updated: sidecar.Updated(set, pod), ready: sidecar.Ready(set, pod), consistent: sidecar.Consistent(pod, names)}
		// Only a Pod that is not updated can be upgraded.
		if !one.updated {
			one.upgradable, one.applying = sidecar.Upgradable(set, pod), sidecar.Applying(set, pod)
		}
		v.pods = append(v.pods, one)
	}
	return v, r.findMissing(v)
}

// findMissing finds the Pods without injection, or takes what was found a short time before.
func (r *Reconciler) findMissing(v *view) error {
	namespaces, err := r.namespaces.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list Namespaces: %w", err)
	}
	now := r.clock.Now()
	last, wait := r.looks.last(v.set, len(namespaces), now)
	if wait > 0 {
		v.missing, v.clash, v.lookAgain = last.names, last.clash, wait
		return nil
	}
	if v.missing, v.clash, err = r.uninjected(v.set, namespaces); err != nil {
		return err
	}
	r.looks.keep(v.set, look{generation: v.set.Generation, at: now, names: v.missing, clash: v.clash})
	return nil
}

// matched returns the active Pods that the SidecarSet selects and that have its containers, sorted by name. The order by name makes
// each pass report and choose the same Pods. A Pod records its SidecarSets in an annotation, and the index is of that annotation. A Pod
// whose labels no longer match is not counted, although it still has the containers.
func (r *Reconciler) matched(set *v1beta1.SidecarSet) (pods []*corev1.Pod, err error) {
	items, err := r.pods.ByIndex(podIndex, set.Name)
	if err != nil {
		return nil, fmt.Errorf("list Pods of the SidecarSet: %w", err)
	}
	selector, inNamespaces := selectorindex.Parse(set.Spec.Selector), sidecar.Namespaces(set)
	for _, item := range items {
		pod, ok := item.(*corev1.Pod)
		// The index only knows what was injected. The labels of the Pod or of its namespace may have changed since.
		if ok && podstate.Active(pod) && selector.Matches(labels.Set(pod.Labels)) && r.isIn(inNamespaces, pod.Namespace) &&
			sidecar.Injected(set, pod) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return pods, nil
}

func nameOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// isIn reports whether a selector selects a namespace. One that selects everything needs no cache. Otherwise, a namespace that is not in
// the cache is not selected.
func (r *Reconciler) isIn(selector labels.Selector, name string) bool {
	if selector.Empty() {
		return true
	}
	namespace, err := r.namespaces.Get(name)
	return err == nil && selector.Matches(labels.Set(namespace.Labels))
}

// uninjected returns the Pods that were created without the containers although the SidecarSet selected them, for example while
// kruise-apiserver did not answer. Only Pods that are younger than the annotation sidecarset-injects-since count: older ones were
// created before the SidecarSet selected them. While injection is paused or switched off, nothing is missing.
func (r *Reconciler) uninjected(set *v1beta1.SidecarSet, namespaces []*corev1.Namespace) (names []string, clash string, err error) {
	// kruise-apiserver writes the time when the SidecarSet begins to select these Pods, or when injection is resumed.
	since, err := time.Parse(time.RFC3339, set.Annotations[pub.SidecarSetInjectsSinceKey])
	if err != nil || !r.injects || set.Spec.InjectionStrategy.Paused {
		return nil, "", nil //nolint:nilerr // A SidecarSet of an early release has no time yet.
	}
	selector, inNamespaces := selectorindex.Parse(set.Spec.Selector), sidecar.Namespaces(set)
	for _, namespace := range namespaces {
		// In other namespaces, kube-apiserver does not send new Pods to the webhook, so nothing can be missing.
		if !controller.SendsNewPods(namespace, r.Namespace) || !inNamespaces.Matches(labels.Set(namespace.Labels)) {
			continue
		}
		pods, err := r.selectedPods(namespace.Name, selector)
		if err != nil {
			return nil, "", err
		}
		for _, pod := range pods {
			// Times of creation have whole seconds, so a Pod of the same second may have been created before.
			if !pod.CreationTimestamp.After(since.Add(time.Second)) {
				continue
			}
			if sets := r.lacking(set, pod); len(sets) > 0 {
				names = append(names, nameOf(pod))
				if clash == "" {
					clash = r.clash(set, sets)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), clash, nil
}

// lacking returns the SidecarSets of a new Pod with the labels of the given one, if the Pod does not have this SidecarSet although it is
// among them. Otherwise, it returns none: a canary or a paused injection can be the reason that a new Pod would not get it either.
func (r *Reconciler) lacking(set *v1beta1.SidecarSet, pod *corev1.Pod) []*v1beta1.SidecarSet {
	// What is injected into the copy of a static Pod would not run, so nothing is.
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror || slices.Contains(sidecar.InjectedSets(pod), set.Name) {
		return nil
	}
	sets := r.forNewPods(pod)
	// The cache may have a newer copy of the SidecarSet by now, so the UIDs are compared.
	if !slices.ContainsFunc(sets, func(one *v1beta1.SidecarSet) bool { return one.UID == set.UID }) {
		return nil
	}
	return sets
}

// clash says why the SidecarSet is left out of Pods that get the given ones, or returns an empty string.
func (r *Reconciler) clash(set *v1beta1.SidecarSet, sets []*v1beta1.SidecarSet) string {
	injected := make([]*v1beta1.SidecarSet, len(sets))
	for i, one := range sets {
		injected[i] = one
		revisions, err := r.revisions(one.UID)
		if err != nil {
			continue
		}
		if revision := sidecar.Pinned(one, one.Spec.InjectionStrategy.Revision, revisions); revision != nil {
			if restored, err := sidecar.Restore(one, revision); err == nil {
				injected[i] = restored
			}
		}
	}
	_, clashes := sidecar.Separate(injected)
	for _, clash := range clashes {
		if clash.Set == set.Name {
			return clash.String()
		}
	}
	return ""
}

// forNewPods returns the SidecarSets that are injected into new Pods like this one, if it is active. The Pod may be nil. If the
// selectors cannot be evaluated, it returns none.
func (r *Reconciler) forNewPods(pod *corev1.Pod) []*v1beta1.SidecarSet {
	if pod == nil || !podstate.Active(pod) {
		return nil
	}
	matching, err := sidecar.Matching(r.sets, pod.Namespace, pod.Labels, func() (labels.Set, bool, error) {
		namespace, err := r.namespaces.Get(pod.Namespace)
		if apierrors.IsNotFound(err) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		return namespace.Labels, true, nil
	})
	if err != nil {
		return nil
	}
	return sidecar.ForNewPods(matching)
}
