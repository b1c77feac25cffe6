package readiness

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/lifecycle"
)

// Drain brings the keys of lifecycle hooks into line with the state that the Pod carries: a hook that marks Pods not ready
// keeps them out of service from the state in which they wait for it on, and the state in which they serve again ends that.
// A key that stands stays for as long as its state lasts, also when the hook no longer marks. It tells whether anything changed.
func Drain(hooks *pub.Lifecycle, pod *corev1.Pod, now time.Time) (changed bool) {
	for _, d := range dueTo(hooks, lifecycle.Of(pod)) {
		switch {
		case d.add:
			changed = Add(pod, d.key, now) || changed
		case d.remove:
			changed = Remove(pod, d.key, now) || changed
		}
	}
	return changed
}

// DrainDue tells whether Drain would change anything, were the Pod in the state.
func DrainDue(hooks *pub.Lifecycle, pod *corev1.Pod, state lifecycle.State) bool {
	for _, d := range dueTo(hooks, state) {
		if d.add && Gated(pod) && !Has(pod, d.key) || d.remove && Has(pod, d.key) {
			return true
		}
	}
	return false
}

// due is what a state asks for a key.
type due struct {
	key         Key
	add, remove bool
}

func dueTo(hooks *pub.Lifecycle, state lifecycle.State) [2]due {
	var preDelete, inPlaceUpdate *pub.LifecycleHook
	if hooks != nil {
		preDelete, inPlaceUpdate = hooks.PreDelete, hooks.InPlaceUpdate
	}
	marks := func(hook *pub.LifecycleHook) bool { return hook != nil && hook.MarkPodNotReady }
	leaving := state == pub.LifecycleStatePreparingDelete
	waiting := state == pub.LifecycleStatePreparingUpdate
	return [2]due{
		{key: PreDelete, add: leaving && marks(preDelete), remove: !leaving},
		{key: PreUpdate, add: waiting && marks(inPlaceUpdate), remove: !waiting && !leaving && state != pub.LifecycleStateUpdating},
	}
}
