package disruption

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Available tells whether a Pod counts towards what must stay available. A Pod whose node has not seen its newest spec does
// not: what the node will make of it is not known.
func Available(pod *corev1.Pod) bool {
	seen := pod.Status.ObservedGeneration == 0 || pod.Status.ObservedGeneration >= pod.Generation
	return seen && Serving(pod)
}

// Serving tells whether the loss of the Pod would be a loss: it is ready, and not in the middle of an update.
func Serving(pod *corev1.Pod) bool {
	return podstate.Active(pod) && podstate.Ready(pod) && !markedUnavailable(pod) && Consistent(pod)
}

// markedUnavailable tells whether a label says that the Pod is not available.
func markedUnavailable(pod *corev1.Pod) bool {
	for key := range pod.Labels {
		if strings.HasPrefix(key, pub.UnavailablePodKeyPrefix) {
			return true
		}
	}
	return false
}
