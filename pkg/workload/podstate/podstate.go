package podstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/lifecycle"
)

// Active reports whether the Pod counts towards its workload's replicas: it is neither terminating nor finished.
func Active(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !Finished(pod)
}

// Finished reports whether all containers of the Pod have ended for good.
func Finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Condition returns the Pod's condition of a type, or nil. The pointer points into the Pod's list.
func Condition(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == conditionType {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// HasGate reports whether the Pod lists the condition type among its readiness gates.
func HasGate(pod *corev1.Pod, conditionType corev1.PodConditionType) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		if gate.ConditionType == conditionType {
			return true
		}
	}
	return false
}

// Scheduled reports whether the Pod has a node name or a PodScheduled condition that is True.
func Scheduled(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" {
		return true
	}
	c := Condition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionTrue
}

// ConditionReady reports whether the Ready condition is True. It checks nothing else.
func ConditionReady(pod *corev1.Pod) bool {
	c := Condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Ready reports whether the Pod runs, is Ready, and is not held by an in-place update. The kubelet updates Ready only after it
// has observed the condition of a readiness gate, so the gate's condition is checked too.
func Ready(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodRunning || !ConditionReady(pod) {
		return false
	}
	c := Condition(pod, pub.InPlaceUpdateReadyConditionType)
	return c == nil || c.Status == corev1.ConditionTrue
}

// Available reports whether the Pod has been ready for minReadySeconds and its lifecycle state lets it serve.
func Available(pod *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	return lifecycle.Serves(lifecycle.Of(pod)) && Ready(pod) && readyRemainder(pod, minReadySeconds, now) <= 0
}

// AvailableIn returns how long a ready Pod must still wait to count as available. It returns zero if the Pod does not wait for
// time to pass.
func AvailableIn(pod *corev1.Pod, minReadySeconds int32, now time.Time) time.Duration {
	if !Ready(pod) {
		return 0
	}
	return max(0, readyRemainder(pod, minReadySeconds, now))
}

// readyRemainder returns how long a ready Pod must still wait, or zero or less if it need not. A Pod that does not say since
// when it is ready waits for the whole time.
func readyRemainder(pod *corev1.Pod, minReadySeconds int32, now time.Time) time.Duration {
	if minReadySeconds <= 0 {
		return 0
	}
	since := Condition(pod, corev1.PodReady).LastTransitionTime
	if since.IsZero() {
		return time.Duration(minReadySeconds) * time.Second
	}
	return since.Add(time.Duration(minReadySeconds) * time.Second).Sub(now)
}
