package disruption

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Available reports whether a Pod counts as available. A Pod whose node has not observed its newest spec does not count, because
// the node may still restart its containers.
func Available(pod *corev1.Pod) bool {
	seen := pod.Status.ObservedGeneration == 0 || pod.Status.ObservedGeneration >= pod.Generation
	return seen && Serving(pod)
}

// Serving reports whether the Pod serves now: it is active, ready, not marked unavailable by a label, and not being updated in
// place.
func Serving(pod *corev1.Pod) bool {
	return podstate.Active(pod) && podstate.Ready(pod) && !markedUnavailable(pod) && Consistent(pod)
}

// markedUnavailable reports whether a label marks the Pod as unavailable.
func markedUnavailable(pod *corev1.Pod) bool {
	for key := range pod.Labels {
		if strings.HasPrefix(key, pub.UnavailablePodKeyPrefix) {
			return true
		}
	}
	return false
}
