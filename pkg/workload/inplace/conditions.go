package inplace

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// reasonStart is the reason of the condition while an update holds the Pod.
const reasonStart = "StartInPlaceUpdate"

// Hold takes the Pod out of service in the given object, which the caller owns. Endpoints must remove the Pod before a container
// changes. A Pod without the readiness gate gets no condition, because nothing would set the condition back to True. The condition of a Pod
// that is held already stays.
func Hold(pod *corev1.Pod, now time.Time) {
	if !podstate.HasGate(pod, pub.InPlaceUpdateReadyConditionType) {
		return
	}
	held := podstate.Condition(pod, pub.InPlaceUpdateReadyConditionType)
	if held != nil && held.Status == corev1.ConditionFalse && held.Reason == reasonStart {
		podstate.Withdraw(pod, now)
		return
	}
	podstate.SetCondition(pod, corev1.PodCondition{
		Type: pub.InPlaceUpdateReadyConditionType, Status: corev1.ConditionFalse, Reason: reasonStart, LastTransitionTime: metav1.NewTime(now),
	})
	// Ready would otherwise stay True until the kubelet has seen the condition.
	podstate.Withdraw(pod, now)
}

// Released reports whether in-place updates let the Pod serve. A Pod without the readiness gate is always released. A Pod
// without the condition is not: it has not had its first one.
func Released(pod *corev1.Pod) bool {
	if !podstate.HasGate(pod, pub.InPlaceUpdateReadyConditionType) {
		return true
	}
	c := podstate.Condition(pod, pub.InPlaceUpdateReadyConditionType)
	return c != nil && c.Status == corev1.ConditionTrue && c.Reason == "" && c.Message == ""
}

// Release puts the Pod back into service in the given object, which the caller owns. The kubelet then sets Ready.
func Release(pod *corev1.Pod, now time.Time) {
	podstate.SetCondition(pod, corev1.PodCondition{
		Type: pub.InPlaceUpdateReadyConditionType, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
	})
}
