package inplace

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
)

// Two controllers update containers of one Pod at the same time: a workload updates its own container, and a SidecarSet updates
// the sidecar. Each keeps its own record and judges its own container, so neither waits for the other.
// Case inplace-update 11c.
func TestUpdateIgnoresContainersOfOtherControllers(t *testing.T) {
	pod := runningPod("A")
	report(t, pod)
	sidecar := &pod.Spec.Containers[1]
	known, err := containerreport.Read(pod)
	require.NoError(t, err)
	recorded := Record(pod, sidecar, known)
	sidecar.Image = "side:2"

	change := &Change{Images: map[string]string{"main": "main:2"}}
	require.NoError(t, change.Apply(pod, "web-2", now))
	containerStatus(pod, "main").ContainerID, containerStatus(pod, "main").Image = "containerd://mainB", "main:2"
	report(t, pod, func(c *containerreport.Container) {
		if c.Name == "main" {
			c.Image = "main:2"
		}
	})
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete, "the workload's own container is new, the sidecar still old")
	known, err = containerreport.Read(pod)
	require.NoError(t, err)
	assert.Equal(t, Pending, Judge(pod, sidecar, recorded, known), "and the sidecar's controller waits for its own")

	containerStatus(pod, "side").ContainerID, containerStatus(pod, "side").Image = "containerd://sideB", "side:2"
	assert.Equal(t, Done, Judge(pod, sidecar, recorded, nil))
}

// This update did not restart the sidecar, so the values that the sidecar was started with do not matter.
func TestEnvironmentsOfOtherContainersAreNotWaitedFor(t *testing.T) {
	pod := runningPod("A")
	reads := func(key string) []corev1.EnvVar {
		return []corev1.EnvVar{{Name: "V", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + key + "']"}}}}
	}
	pod.Spec.Containers[0].Env, pod.Spec.Containers[1].Env = reads("mine"), reads("theirs")
	from := template(func(tpl *corev1.PodTemplateSpec) { tpl.Spec.Containers[0].Env = reads("mine") })
	to := from.DeepCopy()
	to.Labels["mine"] = "2"
	change, possible := Plan(from, to, Options{EnvFromMetadata: true})
	require.True(t, possible)
	require.NoError(t, change.Apply(pod, "web-2", now))
	report(t, pod, func(c *containerreport.Container) {
		if c.Name == "side" {
			c.Hashes.ExtractedEnvFromMetadataHash++
		}
	})
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete)
}

// A condition without its readiness gate would stay False, because nothing sets it back to True.
func TestHoldWithoutTheGateWritesNoCondition(t *testing.T) {
	pod := runningPod("A")
	Hold(pod, now)
	for _, c := range pod.Status.Conditions {
		assert.NotEqual(t, pub.InPlaceUpdateReadyConditionType, c.Type)
	}
}
