package sidecar

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

var now = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))

func setOf(images map[string]string) *v1beta1.SidecarSet {
	set := &v1beta1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Name: "set", ResourceVersion: "9"}}
	for _, name := range []string{"a", "b"} {
		set.Spec.Containers = append(set.Spec.Containers, v1beta1.SidecarContainer{Container: corev1.Container{Name: name, Image: images[name]}})
	}
	return set
}

func running() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 1}}
	for _, name := range []string{"a", "b", "main"} {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Image: name + ":1"})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Image: name + ":1", ImageID: "id-" + name, ContainerID: "test://" + name, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	return pod
}

func recorded(t *testing.T, pod *corev1.Pod) map[string]record.ContainerStatus {
	t.Helper()
	states, err := record.ReadSidecars(pod)
	require.NoError(t, err)
	return states["set"].LastContainerStatuses
}

// An upgrade that replaces one which the node has not completed records what the running instance was created from.
func TestUpgradeOverAnotherRecordsTheRunningInstance(t *testing.T) {
	pod := running()
	require.NoError(t, Upgrade(pod, setOf(map[string]string{"a": "a:2", "b": "b:1"}), "set-1", now))
	assert.Equal(t, map[string]record.ContainerStatus{"a": {Image: "a:1", ImageID: "id-a", ContainerID: "test://a"}}, recorded(t, pod))
	assert.False(t, Consistent(pod, []string{"a"}))
	assert.True(t, Consistent(pod, []string{"b", "main"}))

	require.NoError(t, Upgrade(pod, setOf(map[string]string{"a": "a:3", "b": "b:2"}), "set-2", now))
	assert.Equal(t, "a:1", recorded(t, pod)["a"].Image, "not a:2, which never ran")

	require.NoError(t, Upgrade(pod, setOf(map[string]string{"a": "a:1", "b": "b:2"}), "set-3", now))
	assert.True(t, Consistent(pod, []string{"a"}), "the instance is right again")
	assert.False(t, Consistent(pod, []string{"b"}), "its record stays, although this write did not change it")
	assert.Equal(t, "a:1 b:2 main:1", pod.Spec.Containers[0].Image+" "+pod.Spec.Containers[1].Image+" "+pod.Spec.Containers[2].Image)
}

// A new tag of the same image is complete when another instance runs, although its image ID is the same.
func TestNewTagOfTheSameImageIsComplete(t *testing.T) {
	pod := running()
	require.NoError(t, Upgrade(pod, setOf(map[string]string{"a": "a:2", "b": "b:1"}), "set-1", now))
	status := &pod.Status.ContainerStatuses[0]
	status.ContainerID, status.Image = "test://new", "a:2"
	assert.True(t, Consistent(pod, []string{"a"}))
	status.Image = "a:latest"
	assert.False(t, Consistent(pod, []string{"a"}), "it may be the old image, restarted before the node saw the new one")
	pod.Status.ObservedGeneration = 1
	assert.True(t, Consistent(pod, []string{"a"}), "the node has seen the new one")
	pod.Status.ContainerStatuses = pod.Status.ContainerStatuses[:2]
	assert.False(t, Consistent(pod, []string{"a"}), "a container has no status yet")
}

// A record that cannot be read counts as an upgrade in progress, and is replaced by the next upgrade.
func TestRecordThatCannotBeRead(t *testing.T) {
	pod := running()
	pod.Annotations = map[string]string{"kruise.io/sidecarset-inplace-update-state": "["}
	assert.False(t, Consistent(pod, []string{"a"}))
	assert.True(t, Consistent(pod, nil))
	require.NoError(t, Upgrade(pod, setOf(map[string]string{"a": "a:2", "b": "b:1"}), "set-1", now))
	assert.Contains(t, recorded(t, pod), "a")
}
