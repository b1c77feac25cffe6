package lifecycle

import (
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// Progress is what a transition depends on besides the Pod's own markers.
type Progress struct {
	// Scheduled is true if the Pod has a node. Without a preNormal hook, this ends PreparingNormal.
	Scheduled bool
	// AtTarget is true if no further update of the Pod is wanted.
	AtTarget bool
	// Complete is true if no in-place update is in progress in the Pod's containers.
	Complete bool
}

// Next returns the Pod's next state, or its current state if no transition is due. It only follows hooks and updates; states
// before a deletion or an update begin elsewhere. A Pod in PreparingUpdate returns to service if its update is no longer
// wanted, whatever its markers are: the write that changes a Pod also ends PreparingUpdate, so this Pod was never changed.
func Next(hooks *pub.Lifecycle, pod *corev1.Pod, p Progress) State {
	state := Of(pod)
	var preNormal, inPlaceUpdate *pub.LifecycleHook
	if hooks != nil {
		preNormal, inPlaceUpdate = hooks.PreNormal, hooks.InPlaceUpdate
	}
	switch {
	case state == pub.LifecycleStatePreparingNormal && preNormal == nil && p.Scheduled,
		state == pub.LifecycleStatePreparingNormal && AllHooked(preNormal, pod),
		state == pub.LifecycleStatePreparingUpdate && p.AtTarget,
		state == pub.LifecycleStateUpdated && (inPlaceUpdate == nil || AllHooked(inPlaceUpdate, pod)):
		return pub.LifecycleStateNormal
	case state == pub.LifecycleStateUpdating && p.Complete:
		return AfterUpdate(hooks, pod)
	default:
		return state
	}
}

// AfterUpdate returns the state of a Pod after a finished in-place update: Updated while the hook still waits for its markers,
// else Normal.
func AfterUpdate(hooks *pub.Lifecycle, pod *corev1.Pod) State {
	if hooks != nil && hooks.InPlaceUpdate != nil && !AllHooked(hooks.InPlaceUpdate, pod) {
		return pub.LifecycleStateUpdated
	}
	return pub.LifecycleStateNormal
}
