package subset

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/podstate"
)

// Unscheduled reports whether the Pod waits for a node. A new Pod may have no phase yet.
func Unscheduled(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Spec.NodeName == "" && (pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "")
}

// Unschedulable reports whether the Pod has waited for a node for longer than the given time since its creation, and the scheduler has
// found none. For a Pod that waits for a shorter time, it returns the time left.
func Unschedulable(pod *corev1.Pod, longest time.Duration, now time.Time) (unschedulable bool, left time.Duration) {
	if !Unscheduled(pod) {
		return false, 0
	}
	if left := pod.CreationTimestamp.Add(longest).Sub(now); left > 0 {
		return false, left
	}
	return UnschedulableSince(pod) != nil, 0
}

// UnschedulableSince returns the time since which the scheduler finds no node for the Pod, or nil. A scheduler that sets no
// time leaves the creation of the Pod.
func UnschedulableSince(pod *corev1.Pod) *metav1.Time {
	c := podstate.Condition(pod, corev1.PodScheduled)
	switch {
	case !Unscheduled(pod) || c == nil || c.Status != corev1.ConditionFalse || c.Reason != corev1.PodReasonUnschedulable:
		return nil
	case c.LastTransitionTime.IsZero():
		return &pod.CreationTimestamp
	default:
		return &c.LastTransitionTime
	}
}
