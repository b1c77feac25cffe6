package engine

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
)

// View is what a pass observed. Its objects belong to the caches and must not be changed. Only Observe writes its fields, and
// Template fills templates.
type View struct {
	*Target
	Now time.Time
	// Pods are the active Pods that match the selector, sorted by name. Inactive are terminating or finished. Released no longer
	// match the selector. Orphans are to be adopted.
	Pods, Inactive, Released, Orphans []*corev1.Pod
	// Update is the revision of the wanted template. It may not be stored yet. Current is the last revision that was rolled out
	// completely.
	Update, Current *appsv1.ControllerRevision
	// History holds all revisions, oldest first, including Update.
	History []*appsv1.ControllerRevision

	// revision is what must be written so that Update is the newest revision. claims are the claims of the workload and its
	// Pods.
	revision history.Action
	claims   claimIndex
	// named are the claims of ClaimNames that exist. unowned are the revisions to adopt.
	named   map[string]*corev1.PersistentVolumeClaim
	unowned []*appsv1.ControllerRevision
	// progress is the progress of in-place updates, by Pod UID. Pods whose updates were judged before have no entry.
	progress map[types.UID]inplace.Progress
	// strangers are Pods that match the selector, have no controller and are not to be adopted. orphanClaims are the claims to adopt
	// together with a Pod, by the UID of the Pod.
	strangers    []*corev1.Pod
	orphanClaims map[types.UID][]*corev1.PersistentVolumeClaim
	// unreadable says why the updates of some Pods could not be judged.
	unreadable error
	// memory is what the last pass handed over. random returns the random part of a name, and podNamed the Pod that has a name.
	memory   memory
	random   func(length int) string
	podNamed func(namespace, name string) (*corev1.Pod, error)
	// templates holds the templates that were decoded, by the name of their revision.
	templates map[string]*corev1.PodTemplateSpec
	// changes are the in-place changes that were planned, by the names of both revisions. An entry is nil if none is possible.
	changes map[[2]string]*inplace.Change
}

// At reports whether the Pod is at the revision. The label of the Pod decides, not the spec.
func (v *View) At(pod *corev1.Pod, revision *appsv1.ControllerRevision) bool {
	return v.labelNames(pod.Labels[pub.ControllerRevisionHashKey], revision.Name)
}

// labelNames reports whether the label of a Pod names a revision: by the complete name, or for some kinds by the hash at its
// end.
func (v *View) labelNames(label, revision string) bool {
	if v.Revisions.Exact {
		return label == revision
	}
	return history.Matches(label, revision)
}

// Updated reports whether the Pod is at the wanted revision.
func (v *View) Updated(pod *corev1.Pod) bool { return v.At(pod, v.Update) }

// RolledOut reports whether all replicas exist and are at the wanted revision.
func (v *View) RolledOut() bool {
	return len(v.Pods) == v.Replicas && !slices.ContainsFunc(v.Pods, func(pod *corev1.Pod) bool { return !v.Updated(pod) })
}

// complete reports whether no in-place update is in progress in the Pod. It is needed for Pods without the readiness gate,
// which the kubelet reports ready during an update. A Pod that was not judged in this pass has no update in progress.
func (v *View) complete(pod *corev1.Pod) bool {
	progress, judged := v.progress[pod.UID]
	return !judged || progress.Complete
}

// Ready reports whether the Pod is ready and no in-place update is in progress.
func (v *View) Ready(pod *corev1.Pod) bool { return podstate.Ready(pod) && v.complete(pod) }

// Available reports whether the Pod has been ready for minReadySeconds, its lifecycle state lets it serve, and no in-place
// update is in progress.
func (v *View) Available(pod *corev1.Pod) bool { return v.availableAfter(pod, v.MinReadySeconds) }

// Serving is Available without minReadySeconds.
func (v *View) Serving(pod *corev1.Pod) bool { return v.availableAfter(pod, 0) }

func (v *View) availableAfter(pod *corev1.Pod, minReadySeconds int32) bool {
	return podstate.Available(pod, minReadySeconds, v.Now) && v.complete(pod)
}

// NeverAvailable reports whether the Pod has not been ready in its revision so far. A Pod only says since when it is
// not ready. If it was never ready, this is the time of its first report. If it was ready before, the time is later.
func (v *View) NeverAvailable(pod *corev1.Pod) bool {
	ready := podstate.Condition(pod, corev1.PodReady)
	switch {
	case ready == nil || !v.complete(pod):
		return true
	case ready.Status == corev1.ConditionTrue:
		return false
	}
	for _, begins := range []corev1.PodConditionType{corev1.PodInitialized, pub.InPlaceUpdateReadyConditionType} {
		began := podstate.Condition(pod, begins)
		if began != nil && (began.Status != corev1.ConditionTrue || !ready.LastTransitionTime.After(began.LastTransitionTime.Time)) {
			return true
		}
	}
	return false
}

// AvailableIn returns the time until the next ready Pod becomes available, or zero. No event says when minReadySeconds are
// over.
func (v *View) AvailableIn() (soonest time.Duration) {
	for _, pod := range v.Pods {
		soonest = delay.Sooner(soonest, podstate.AvailableIn(pod, v.MinReadySeconds, v.Now))
	}
	return soonest
}

// RevisionOf returns the revision that the Pod's label names, or nil if that revision was deleted.
func (v *View) RevisionOf(pod *corev1.Pod) *appsv1.ControllerRevision {
	for _, revision := range v.History {
		if v.At(pod, revision) {
			return revision
		}
	}
	return nil
}

// Template returns the Pod template that a revision holds. It is decoded once per pass, and must not be changed.
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

// Claim returns a claim of Identity.ClaimNames, or nil if it does not exist.
func (v *View) Claim(name string) *corev1.PersistentVolumeClaim { return v.named[name] }

// Again reports whether the last pass was for the same generation of the workload and stopped early. After a restart, it is false once.
func (v *View) Again() bool { return v.memory.generation == v.Object.GetGeneration() }

// PreparingDelete reports whether a hook holds the Pod before its deletion.
func PreparingDelete(pod *corev1.Pod) bool {
	return lifecycle.Of(pod) == pub.LifecycleStatePreparingDelete
}
