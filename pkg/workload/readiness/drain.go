package readiness

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/lifecycle"
)

// Drain adds and removes the keys of lifecycle hooks as the Pod's lifecycle state requires. A hook with markPodNotReady keeps
// the Pod out of service from the state in which the Pod waits for the hook until a state in which the Pod serves again. An
// existing key stays for as long as its state lasts, even if markPodNotReady is removed. Drain returns whether anything changed.
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

// DrainDue reports whether Drain would change anything if the Pod were in the state.
func DrainDue(hooks *pub.Lifecycle, pod *corev1.Pod, state lifecycle.State) bool {
	for _, d := range dueTo(hooks, state) {
		if d.add && Gated(pod) && !Has(pod, d.key) || d.remove && Has(pod, d.key) {
			return true
		}
	}
	return false
}

// due says whether a state requires a key to be added or removed.
type due struct {
	key         Key
	add, remove bool
}

// dueTo returns what a state requires of the two keys. The key of the update also stays while the Pod is updated or prepared
// for its deletion.
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
