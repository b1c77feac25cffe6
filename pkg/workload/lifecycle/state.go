package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// State is the lifecycle state of a Pod. The empty state means that the Pod has no lifecycle.
type State = pub.LifecycleStateType

// Of returns the state in the Pod's label.
func Of(pod *corev1.Pod) State { return State(pod.Labels[pub.LifecycleStateKey]) }

// Serves reports whether a Pod in this state may count as available.
func Serves(state State) bool { return state == "" || state == pub.LifecycleStateNormal }

// Set writes the state and its time into the given object, which the caller owns.
func Set(pod *corev1.Pod, state State, now time.Time) {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Labels[pub.LifecycleStateKey] = string(state)
	pod.Annotations[pub.LifecycleTimestampKey] = now.UTC().Format(time.RFC3339)
}

// SpecifiedDelete reports whether the Pod's label asks for its deletion.
func SpecifiedDelete(pod *corev1.Pod) bool {
	_, found := pod.Labels[pub.SpecifiedDeleteKey]
	return found
}

// Updating reports whether the Pod is being updated in place: a hook holds it before the update or after it, or its node is at work.
func Updating(pod *corev1.Pod) bool {
	state := Of(pod)
	return state == pub.LifecycleStatePreparingUpdate || state == pub.LifecycleStateUpdating || state == pub.LifecycleStateUpdated
}
