package podstate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reasonGatesNotReady is the kubelet's own reason for a Pod that its readiness gates keep out of service.
const reasonGatesNotReady = "ReadinessGatesNotReady"

// SetCondition writes a condition into the object given, which the caller owns.
func SetCondition(pod *corev1.Pod, condition corev1.PodCondition) {
	existing := Condition(pod, condition.Type)
	if existing == nil {
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
		return
	}
	condition.ObservedGeneration, condition.LastProbeTime = existing.ObservedGeneration, existing.LastProbeTime
	*existing = condition
}

// Withdraw turns Ready False in the object given, which the caller owns, once one of its gates is not True. The kubelet
// computes Ready too, but only after it has seen the gate's condition, and endpoints would have the Pod until then.
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
