package podstate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reasonGatesNotReady is the reason that the kubelet sets on a Pod whose readiness gates are not all True.
const reasonGatesNotReady = "ReadinessGatesNotReady"

// SetCondition writes a condition into the given object, which the caller owns. The observed generation and the probe time of
// an existing condition stay. The caller sets the time of the transition.
func SetCondition(pod *corev1.Pod, condition corev1.PodCondition) {
	existing := Condition(pod, condition.Type)
	if existing == nil {
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
		return
	}
	condition.ObservedGeneration, condition.LastProbeTime = existing.ObservedGeneration, existing.LastProbeTime
	*existing = condition
}

// Withdraw sets Ready to False in the given object, which the caller owns, if one of the Pod's readiness gates is not True. The
// kubelet does this too, but only after it has observed the gate's condition. Until then, endpoints would keep the Pod.
func Withdraw(pod *corev1.Pod, now time.Time) {
	waiting := unmetGates(pod)
	if !ConditionReady(pod) || waiting == "" {
		return
	}
	SetCondition(pod, corev1.PodCondition{
		Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reasonGatesNotReady, Message: waiting,
		LastTransitionTime: metav1.NewTime(now),
	})
}

// unmetGates returns a message about the readiness gates that are not True, in the words of the kubelet, or "". The order is
// fixed, so that the message does not change.
func unmetGates(pod *corev1.Pod) string {
	var waiting []string
	for _, gate := range pod.Spec.ReadinessGates {
		if c := Condition(pod, gate.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			waiting = append(waiting, fmt.Sprintf("the status of pod readiness gate %q is not \"True\"", gate.ConditionType))
		}
	}
	slices.Sort(waiting)
	return strings.Join(waiting, ", ")
}
