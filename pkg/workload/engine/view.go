package engine

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/podstate"
)

// View is what a pass observed. Its objects belong to the caches: nobody changes them.
type View struct {
	*Target
	Now time.Time
	// Pods are the active ones by name. Inactive are terminating or finished. Leaving no longer match the selector.
	// Orphans are to be adopted.
	Pods, Inactive, Leaving, Orphans []*corev1.Pod
	// Update is the revision of the wanted template, Current the one that was last rolled out. Update may still have to be written.
	Update, Current *appsv1.ControllerRevision
	// History holds all revisions, the oldest first, with Update as it will be.
	History []*appsv1.ControllerRevision

	revision history.Action
	claims   claimIndex
	// progress is how far in-place updates have come; Pods whose updates were judged before have no entry.
	progress map[types.UID]inplace.Progress
	// unreadable is why the updates of some Pods could not be judged.
	unreadable error
	memory     memory
	random     func(length int) string
	templates  map[string]*corev1.PodTemplateSpec
}

// At tells whether the Pod is at the revision.
func At(pod *corev1.Pod, revision *appsv1.ControllerRevision) bool {
	return history.Matches(pod.Labels[pub.ControllerRevisionHashKey], revision.Name)
}

// Updated tells whether the Pod is at the wanted revision.
func (v *View) Updated(pod *corev1.Pod) bool { return At(pod, v.Update) }

// RolledOut tells whether all replicas are there and at the wanted revision.
func (v *View) RolledOut() bool {
	return len(v.Pods) == v.Replicas && !slices.ContainsFunc(v.Pods, func(pod *corev1.Pod) bool { return !v.Updated(pod) })
}

// complete tells whether no in-place update is under way in the Pod. It is what tells where Pods lack the readiness gate.
func (v *View) complete(pod *corev1.Pod) bool {
	progress, judged := v.progress[pod.UID]
	return !judged || progress.Complete
}

// Ready tells whether the Pod serves, and not only until the node carries out an update.
func (v *View) Ready(pod *corev1.Pod) bool { return podstate.Ready(pod) && v.complete(pod) }

// Available tells whether the Pod has been ready for minReadySeconds and its lifecycle lets it serve.
func (v *View) Available(pod *corev1.Pod) bool { return v.availableAfter(pod, v.MinReadySeconds) }

// Serving is Available without minReadySeconds.
func (v *View) Serving(pod *corev1.Pod) bool { return v.availableAfter(pod, 0) }

func (v *View) availableAfter(pod *corev1.Pod, minReadySeconds int32) bool {
	return podstate.Available(pod, minReadySeconds, v.Now) && v.complete(pod)
}

// AvailableIn returns when the next ready Pod will have been ready for long enough, or zero.
func (v *View) AvailableIn() (soonest time.Duration) {
	for _, pod := range v.Pods {
		soonest = Sooner(soonest, podstate.AvailableIn(pod, v.MinReadySeconds, v.Now))
	}
	return soonest
}

// RevisionOf returns the revision that the Pod's label names, or nil when it was trimmed.
func (v *View) RevisionOf(pod *corev1.Pod) *appsv1.ControllerRevision {
	for _, revision := range v.History {
		if At(pod, revision) {
			return revision
		}
	}
	return nil
}

// Template returns the Pod template that a revision holds. It is decoded once in a pass.
func (v *View) Template(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	if template, found := v.templates[revision.Name]; found {
		return template, nil
	}
	template, err := history.Template(revision)
	if err != nil {
		return nil, err
	}
	v.templates[revision.Name] = template
	return template, nil
}

// Instance returns the ID of the instance that a Pod or a claim belongs to, or nothing.
func (v *View) Instance(object interface{ GetLabels() map[string]string }) string {
	return object.GetLabels()[v.InstanceLabel]
}

// NewIDs returns n instance IDs for Pods to create: those of creations whose answer was lost, those of claims that lost their
// Pod where claims are reused, and random ones.
func (v *View) NewIDs(n int) (ids []string) {
	taken := map[string]bool{}
	for _, pods := range [][]*corev1.Pod{v.Pods, v.Inactive, v.Leaving} {
		for _, pod := range pods {
			taken[v.Instance(pod)] = true
		}
	}
	take := func(id string) {
		if id != "" && !taken[id] && len(ids) < n {
			ids, taken[id] = append(ids, id), true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.memory.attempted)) {
		take(id)
	}
	for _, id := range v.claims.instances() {
		if v.ReuseClaims && !v.claims.terminating(id) {
			take(id)
		}
		taken[id] = true
	}
	for len(ids) < n {
		ids = append(ids, podcontrol.NewID(v.random, taken))
	}
	return ids
}

// PreparingDelete tells whether a hook holds the Pod before its deletion.
func PreparingDelete(pod *corev1.Pod) bool {
	return lifecycle.Of(pod) == pub.LifecycleStatePreparingDelete
}

// Sooner returns the shorter of two delays. Zero is no delay at all.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
