package lifecycle

import (
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// Progress is what a transition depends on beside the Pod's own markers.
type Progress struct {
	Scheduled bool
	// AtTarget is true when the Pod is to be updated no more: it is where it is wanted.
	AtTarget bool
	// Complete is true when no in-place update is under way in the Pod's containers.
	Complete bool
}

// Next returns the state that the Pod is due, which is its own when nothing changes.
func Next(hooks *pub.Lifecycle, pod *corev1.Pod, p Progress) State {
	state := Of(pod)
	var preNormal, inPlaceUpdate *pub.LifecycleHook
	if hooks != nil {
		preNormal, inPlaceUpdate = hooks.PreNormal, hooks.InPlaceUpdate
	}
	switch {
	case state == pub.LifecycleStatePreparingNormal && preNormal == nil && p.Scheduled,
		state == pub.LifecycleStatePreparingNormal && AllHooked(preNormal, pod),
		state == pub.LifecycleStateUpdated && (inPlaceUpdate == nil || AllHooked(inPlaceUpdate, pod)):
		return pub.LifecycleStateNormal
	case state == pub.LifecycleStatePreparingUpdate && p.AtTarget, state == pub.LifecycleStateUpdating && p.Complete:
		return AfterUpdate(hooks, pod)
	default:
		return state
	}
}

// AfterUpdate returns the state in which a finished in-place update leaves the Pod.
func AfterUpdate(hooks *pub.Lifecycle, pod *corev1.Pod) State {
	if hooks != nil && hooks.InPlaceUpdate != nil && !AllHooked(hooks.InPlaceUpdate, pod) {
		return pub.LifecycleStateUpdated
	}
	return pub.LifecycleStateNormal
}
