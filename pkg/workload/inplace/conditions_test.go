package inplace

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

func TestHoldAndRelease(t *testing.T) {
	pod := runningPod("A")
	assert.True(t, Released(pod), "a Pod without the gate is never held")
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: pub.InPlaceUpdateReadyConditionType}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	assert.False(t, Released(pod), "a new Pod has no condition yet")

	Hold(pod, now)
	assert.False(t, Released(pod))
	assert.Equal(t, "StartInPlaceUpdate", podstate.Condition(pod, pub.InPlaceUpdateReadyConditionType).Reason)
	ready := podstate.Condition(pod, corev1.PodReady)
	assert.Equal(t, corev1.ConditionFalse, ready.Status)
	assert.Equal(t, "ReadinessGatesNotReady", ready.Reason)
	assert.Equal(t, `the status of pod readiness gate "InPlaceUpdateReady" is not "True"`, ready.Message)

	Release(pod, now)
	assert.True(t, Released(pod))
	assert.False(t, podstate.ConditionReady(pod), "Ready is the kubelet's to set True")
}
