package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// State is where a Pod stands between its creation and its deletion. The empty state is a Pod without lifecycle.
type State = pub.LifecycleStateType

// Of returns the state that the Pod carries.
func Of(pod *corev1.Pod) State { return State(pod.Labels[pub.LifecycleStateKey]) }

// Serves tells whether a Pod in this state may count as available.
func Serves(state State) bool { return state == "" || state == pub.LifecycleStateNormal }

// Set writes the state and its time into the object given, which the caller owns.
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

// SpecifiedDelete tells whether the Pod's label asks for its deletion.
func SpecifiedDelete(pod *corev1.Pod) bool {
	_, found := pod.Labels[pub.SpecifiedDeleteKey]
	return found
}
