package inplace

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

const (
	reasonStart         = "StartInPlaceUpdate"
	reasonGatesNotReady = "ReadinessGatesNotReady"
)

// Hold takes the Pod out of service in the object given, which the caller owns: before a container changes, endpoints must
// have lost it. The kubelet computes Ready too, but only after it has seen the gate's condition.
func Hold(pod *corev1.Pod, now time.Time) {
	setCondition(pod, corev1.PodCondition{
		Type: pub.InPlaceUpdateReadyConditionType, Status: corev1.ConditionFalse, Reason: reasonStart, LastTransitionTime: metav1.NewTime(now),
	})
	if podstate.ConditionReady(pod) {
		setCondition(pod, corev1.PodCondition{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reasonGatesNotReady,
			Message: gatesMessage(pod), LastTransitionTime: metav1.NewTime(now),
		})
	}
}

// Released tells whether the Pod is in service as far as in-place updates go, or has no gate that would keep it out.
func Released(pod *corev1.Pod) bool {
	if !podstate.HasGate(pod, pub.InPlaceUpdateReadyConditionType) {
		return true
	}
	c := podstate.Condition(pod, pub.InPlaceUpdateReadyConditionType)
	return c != nil && c.Status == corev1.ConditionTrue && c.Reason == "" && c.Message == ""
}

// Release puts the Pod back into service in the object given, which the caller owns. Ready stays with the kubelet.
func Release(pod *corev1.Pod, now time.Time) {
	setCondition(pod, corev1.PodCondition{
		Type: pub.InPlaceUpdateReadyConditionType, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
	})
}

func setCondition(pod *corev1.Pod, condition corev1.PodCondition) {
	existing := podstate.Condition(pod, condition.Type)
	if existing == nil {
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
		return
	}
	condition.ObservedGeneration, condition.LastProbeTime = existing.ObservedGeneration, existing.LastProbeTime
	*existing = condition
}

func gatesMessage(pod *corev1.Pod) string {
	var waiting []string
	for _, gate := range pod.Spec.ReadinessGates {
		if c := podstate.Condition(pod, gate.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			waiting = append(waiting, fmt.Sprintf("the status of pod readiness gate %q is not \"True\"", gate.ConditionType))
		}
	}
	slices.Sort(waiting)
	return strings.Join(waiting, ", ")
}
