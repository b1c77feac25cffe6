//go:build e2e

package e2e

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// byUID indexes Pods by UID.
func byUID(pods []corev1.Pod) map[string]corev1.Pod {
	index := map[string]corev1.Pod{}
	for _, pod := range pods {
		index[string(pod.UID)] = pod
	}
	return index
}

// TestInPlaceImageUpdate checks that every Pod keeps its UID, address and node, and that its container restarts once.
// Case inplace-update 1.
func TestInPlaceImageUpdate(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	before := e.ready("web", 3)
	old := byUID(e.pods("web"))
	require.Len(t, old, 3)

	e.apply(manifest("web", "demo:v1", "demo:v2"))
	e.eventually("every Pod runs the new image", func(c *require.Assertions, _ context.Context) {
		for _, pod := range e.pods("web") {
			c.Len(pod.Status.ContainerStatuses, 1)
			c.Equal("kruise.local/demo:v2", pod.Status.ContainerStatuses[0].Image)
		}
	})
	after := e.ready("web", 3)
	assert.NotEqual(t, before.Status.UpdateRevision, after.Status.UpdateRevision)
	assert.Equal(t, after.Status.UpdateRevision, after.Status.CurrentRevision)

	updated := byUID(e.pods("web"))
	require.ElementsMatch(t, slices.Collect(maps.Keys(old)), slices.Collect(maps.Keys(updated)), "the same Pods")
	for uid, pod := range updated {
		was := old[uid].Status.ContainerStatuses[0]
		status := pod.Status.ContainerStatuses[0]
		assert.Equal(t, old[uid].Status.PodIP, pod.Status.PodIP, "address of %s", pod.Name)
		assert.Equal(t, old[uid].Spec.NodeName, pod.Spec.NodeName, "node of %s", pod.Name)
		assert.Equal(t, was.RestartCount+1, status.RestartCount, "restarts of %s", pod.Name)
		assert.NotEqual(t, was.ImageID, status.ImageID, "image of %s", pod.Name)
		assert.NotEqual(t, was.ContainerID, status.ContainerID, "container of %s", pod.Name)
		assert.Equal(t, after.Status.UpdateRevision, pod.Labels["controller-revision-hash"])
	}
	e.said("SuccessfulUpdatePodInPlace", "in-place")
}

// TestRecreateUpdate checks that a change that is impossible in place replaces the Pods within maxUnavailable.
// Case inplace-update 2.
func TestRecreateUpdate(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	old := byUID(e.pods("web"))

	e.apply(manifest("web", "        ports:", "        env: [{name: ADDED, value: \"1\"}]\n        ports:"))
	e.eventually("no old Pod is left", func(c *require.Assertions, _ context.Context) {
		pods := byUID(e.pods("web"))
		c.Len(pods, 3)
		for uid, pod := range pods {
			c.NotContains(old, uid)
			c.Equal([]corev1.EnvVar{{Name: "ADDED", Value: "1"}}, pod.Spec.Containers[0].Env)
		}
	})
	set := e.ready("web", 3)
	assert.Equal(t, set.Status.UpdateRevision, set.Status.CurrentRevision)
}

// TestPartition checks that a partition holds Pods back, and that they are updated when it is removed.
// Case cloneset 5.
func TestPartition(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	e.apply(manifest("web", "demo:v1", "demo:v2", "    maxUnavailable: 1", "    maxUnavailable: 1\n    partition: 2"))
	e.eventually("one Pod is updated", func(c *require.Assertions, _ context.Context) {
		set := e.cloneSet("web")
		c.Equal(set.Generation, set.Status.ObservedGeneration)
		c.EqualValues(1, set.Status.ExpectedUpdatedReplicas)
		c.EqualValues(1, set.Status.UpdatedAvailableReplicas)
		c.EqualValues(3, set.Status.AvailableReplicas)
		c.NotEqual(set.Status.UpdateRevision, set.Status.CurrentRevision)
	})
	images := map[string]int{}
	for _, pod := range e.pods("web") {
		images[pod.Spec.Containers[0].Image]++
	}
	assert.Equal(t, map[string]int{"kruise.local/demo:v1": 2, "kruise.local/demo:v2": 1}, images)
	e.kubectl("patch", "cloneset", "web", "--type=merge", "-p", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
	e.ready("web", 3)
}
