//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/podstate"
)

// run waits until the main containers run these versions, by Pod.
func (e *env) run(when string, want map[string]string) {
	e.t.Helper()
	e.eventually(when, func(c *require.Assertions, _ context.Context) {
		images := map[string]string{}
		for _, pod := range e.pods("web") {
			status := statusOf(&pod, "main")
			c.NotNil(status, pod.Name)
			_, images[pod.Name], _ = strings.Cut(status.Image, ":")
		}
		c.Equal(want, images)
	})
}

// Pods that users pick, and Pods that are lost, come back at the revision of their number under the partition, and to their volumes.
// Under OnDelete, only a deleted Pod is updated.
// Cases statefulset 16, 29, 30.
func TestDeletedPodsReturnAtTheirRevision(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(strategy, image string) string {
		return parallelSet("replicas: 3", "replicas: 3", inOrderUpdate, strategy, mainImage+"v1", mainImage+image)
	}
	const partitioned = "    type: RollingUpdate\n    rollingUpdate: {partition: 2}\n"
	names := []string{"web-0", "web-1", "web-2"}
	e.apply(text(partitioned, "v1"))
	first := e.settledSet(3, names...).Status.CurrentRevision
	lines := e.firstLines(names...)
	e.apply(text(partitioned, "v2"))
	e.settledSet(1, names...)
	held := map[string]string{"web-0": "v1", "web-1": "v1", "web-2": "v2"}
	e.run("after the update", held)

	before := e.uids()
	e.kubectl("label", "pod", "web-0", "apps.kruise.io/specified-delete=true")
	e.replacedPods(before, "web-0")
	e.settledSet(1, names...)
	e.run("after a picked Pod was replaced", held)
	assert.Equal(t, []types.UID{before["web-1"], before["web-2"]}, []types.UID{e.uids()["web-1"], e.uids()["web-2"]})

	before = e.uids()
	e.kubectl("delete", "pods", "--all", "--wait=false")
	e.replacedPods(before, names...)
	assert.Equal(t, first, e.settledSet(1, names...).Status.CurrentRevision)
	e.run("after all Pods were lost", held)

	before = e.uids()
	e.apply(text("    type: OnDelete\n", "v2"))
	e.observed("the set is OnDelete", func(c *require.Assertions, set *v1beta1.StatefulSet) {
		c.Equal(appsv1.OnDeleteStatefulSetStrategyType, set.Spec.UpdateStrategy.Type)
	})
	e.kubectl("delete", "pod", "web-0")
	e.replacedPods(before, "web-0")
	e.settledSet(2, names...)
	e.run("under OnDelete", map[string]string{"web-0": "v2", "web-1": "v1", "web-2": "v2"})
	assert.Equal(t, lines, e.firstLines(names...))
}

// An update without order begins with the Pod of the largest weight. A pause stops it, while scaling goes on. A rollback leaves the
// Pods alone that were not updated.
// Cases statefulset 15, 25, 26.
func TestUnorderedUpdatePausesAndRollsBack(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(image, replicas, partition, paused string) string {
		return parallelSet("replicas: 3", "replicas: "+replicas, noGates, inPlaceGate, mainImage+"v1", mainImage+image,
			inOrderUpdate, inPlaceUpdate+"      partition: "+partition+"\n      paused: "+paused+`
      unorderedUpdate:
        priorityStrategy:
          weightPriority: [{weight: 50, matchSelector: {matchLabels: {statefulset.kubernetes.io/pod-name: web-0}}}]
`)
	}
	e.apply(text("v1", "3", "0", "false"))
	first := e.settledSet(3, "web-0", "web-1", "web-2").Status.UpdateRevision
	before, lines := e.uids(), e.firstLines("web-0", "web-1", "web-2")
	e.apply(text("v2", "3", "2", "false"))
	e.settledSet(1, "web-0", "web-1", "web-2")
	e.run("after the update", map[string]string{"web-0": "v2", "web-1": "v1", "web-2": "v1"})

	e.apply(text("v2", "4", "0", "true"))
	e.settledSet(2, "web-0", "web-1", "web-2", "web-3")
	e.run("paused", map[string]string{"web-0": "v2", "web-1": "v1", "web-2": "v1", "web-3": "v2"})

	e.apply(text("v1", "3", "0", "false"))
	assert.Equal(t, first, e.settledSet(3, "web-0", "web-1", "web-2").Status.UpdateRevision)
	e.run("rolled back", map[string]string{"web-0": "v1", "web-1": "v1", "web-2": "v1"})
	assert.Equal(t, before, e.uids(), "in place")
	for _, pod := range e.pods("web") {
		assert.Equal(t, map[bool]int32{true: 2}[pod.Name == "web-0"], statusOf(&pod, "main").RestartCount, pod.Name)
	}
	assert.Equal(t, lines, e.firstLines("web-0", "web-1", "web-2"))
	revisions, err := e.core.AppsV1().ControllerRevisions(e.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	numbers := map[string]int64{}
	for i := range revisions.Items {
		numbers[revisions.Items[i].Name] = revisions.Items[i].Revision
	}
	assert.Len(t, numbers, 2)
	assert.EqualValues(t, 3, numbers[first], "the old revision has the next number")
}

// waitsForImage returns whether the main container of a Pod cannot have its image.
func waitsForImage(pod *corev1.Pod) bool {
	status := statusOf(pod, "main")
	return status != nil && status.State.Waiting != nil &&
		(status.State.Waiting.Reason == "ErrImagePull" || status.State.Waiting.Reason == "ImagePullBackOff")
}

// With an image that does not exist, no more Pods are created than the limit allows. A new template replaces them and the others follow.
// A Pod that cannot end holds up no other.
// Cases statefulset 13, 14, 28.
func TestBrokenAndStuckPodsHoldUpNoOtherInParallel(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(image, replicas string) string {
		return statefulSet(ourGroup, orderedPolicy, parallelPolicy, "replicas: 3", "replicas: "+replicas, "demo:v1", image,
			"  selector:\n", "  scaleStrategy: {maxUnavailable: 2}\n  selector:\n")
	}
	e.apply(text("none:v1", "3"))
	e.eventually("two Pods wait for the image", func(c *require.Assertions, _ context.Context) {
		waiting := 0
		for _, pod := range e.pods("web") {
			if waitsForImage(&pod) {
				waiting++
			}
		}
		c.Equal(2, waiting)
	})
	assert.Len(t, e.pods("web"), 2)
	e.apply(text("demo:v1", "3"))
	e.settledSet(3, "web-0", "web-1", "web-2")

	e.kubectl("patch", "pod", "web-0", "--type=merge", "-p", `{"metadata":{"finalizers":["`+holdFinalizer+`"]}}`)
	e.kubectl("delete", "pod", "web-0", "--wait=false")
	e.apply(text("demo:v1", "4"))
	e.eventually("the other Pods serve", func(c *require.Assertions, ctx context.Context) {
		pods := e.pods("web")
		c.Len(pods, 3)
		for i := range pods {
			c.True(podstate.Ready(&pods[i]), pods[i].Name)
		}
		stuck, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, "web-0", metav1.GetOptions{})
		c.NoError(err)
		c.NotNil(stuck.DeletionTimestamp)
	})
	e.kubectl("patch", "pod", "web-0", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	e.settledSet(4, "web-0", "web-1", "web-2", "web-3")
}

// In order, an update waits for a Pod that does not run. When the template is right again, it replaces that Pod, which was never available.
// It continues with the next Pod, once the first one has been ready for minReadySeconds.
// Cases statefulset 6, 40.
func TestUpdateInOrderLeavesABrokenRevision(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const seconds = 4
	text := func(image string) string {
		return statefulSet(ourGroup, "replicas: 3", "replicas: 2", "demo:v1", image,
			inOrderUpdate, inOrderUpdate+sprintf("    rollingUpdate: {minReadySeconds: %d}\n", seconds))
	}
	e.apply(text("demo:v1"))
	first := e.settledSet(2, "web-0", "web-1").Status.UpdateRevision
	before := e.uids()
	e.apply(text("none:v1"))
	e.eventually("web-1 waits for its image", func(c *require.Assertions, ctx context.Context) {
		pod, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, "web-1", metav1.GetOptions{})
		c.NoError(err)
		c.True(waitsForImage(pod))
	})
	broken := e.uids()
	assert.Equal(t, before["web-0"], broken["web-0"])

	history := e.watchPods()
	e.apply(text("demo:v2"))
	e.observed("the status names the revisions", func(c *require.Assertions, set *v1beta1.StatefulSet) {
		c.Equal(first, set.Status.CurrentRevision)
		c.NotEqual(first, set.Status.UpdateRevision)
	})
	e.settledSet(2, "web-0", "web-1")
	e.run("after the update", map[string]string{"web-0": "v2", "web-1": "v2"})
	var ready, deleted time.Time
	for _, seen := range history() {
		switch {
		case seen.UID == before["web-0"] && seen.DeletionTimestamp != nil && deleted.IsZero():
			deleted = seen.at
		case seen.Name == "web-1" && seen.UID != broken["web-1"] && podstate.Ready(&seen.Pod):
			ready = condition(&seen.Pod, corev1.PodReady).LastTransitionTime.Time
		}
	}
	assert.GreaterOrEqual(t, deleted.Sub(ready), seconds*time.Second)
}

// A preDelete hook holds the Pod that scales in, with its container, and the next one waits for it. A hook for updates holds a Pod of
// the old image. The claims stay.
// Case statefulset 31.
func TestHooksHoldPodsOfAStatefulSet(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(image, replicas string) string {
		return statefulSet(ourGroup, "replicas: 3", `lifecycle:
    preDelete: {labelsHandler: {delete-hook: "on"}}
    inPlaceUpdate: {labelsHandler: {update-hook: "on"}}
  replicas: `+replicas, "labels: {app: web}\n    spec:", "labels: {app: web, delete-hook: \"on\", update-hook: \"on\"}\n    spec:",
			inOrderUpdate, inPlaceUpdate, noGates, inPlaceGate, "demo:v1", image)
	}
	e.apply(text("demo:v1", "3"))
	e.settledSet(3, "web-0", "web-1", "web-2")
	before := e.uids()

	e.apply(text("demo:v1", "1"))
	for _, name := range []string{"web-2", "web-1"} {
		pod := e.held("web", "PreparingDelete")
		assert.Equal(t, name, pod.Name)
		e.observed("the hook holds the set", func(c *require.Assertions, set *v1beta1.StatefulSet) {
			c.Equal(set.Status.Replicas, set.Status.ReadyReplicas, "its container serves")
		})
		e.kubectl("label", "pod", name, "delete-hook-")
		e.gone(&pod)
	}
	e.settledSet(1, "web-0")
	assert.Equal(t, []string{"data-web-0", "data-web-1", "data-web-2"}, e.claims())

	e.apply(text("demo:v2", "1"))
	pod := e.held("web", "PreparingUpdate")
	assert.Equal(t, "kruise.local/demo:v1", pod.Spec.Containers[0].Image)
	e.answerUpdates("web", 1)
	e.settledSet(1, "web-0")
	assert.Equal(t, before["web-0"], e.uids()["web-0"])
	e.run("after the update", map[string]string{"web-0": "v2"})
}

// A Pod whose labels do not match is released, and its number stays empty while it runs. A Pod that matches is adopted. Neither restarts
// it.
// Case statefulset 42.
func TestReleasedPodIsAdoptedAgain(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(statefulSet(ourGroup, "replicas: 3", "replicas: 1"))
	set := e.settledSet(1, "web-0")
	before := restarts(e.pods("web"))
	owned := func(want bool) {
		t.Helper()
		e.eventually(sprintf("web-0 belongs to the set: %t", want), func(c *require.Assertions, ctx context.Context) {
			pod, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, "web-0", metav1.GetOptions{})
			c.NoError(err)
			c.Equal(want, metav1.IsControlledBy(pod, set))
			c.Nil(pod.DeletionTimestamp)
		})
	}
	e.kubectl("label", "pod", "web-0", "app-")
	owned(false)
	e.observed("the number is taken", func(c *require.Assertions, set *v1beta1.StatefulSet) {
		c.Zero(set.Status.Replicas)
		c.NotEmpty(set.Status.Conditions)
		c.Contains(set.Status.Conditions[0].Message, "already exists")
	})
	e.kubectl("label", "pod", "web-0", "app=web")
	owned(true)
	e.kubectl("patch", "pod", "web-0", "--type=merge", "-p", `{"metadata":{"ownerReferences":null}}`)
	owned(true)
	e.settledSet(1, "web-0")
	assert.Equal(t, before, restarts(e.pods("web")))
}
