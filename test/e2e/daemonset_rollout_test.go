//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/nodefit"
	"kruise.io/kruise/pkg/workload/podstate"
)

// oneAtATime is the part of the manifest with the limits of an update.
const oneAtATime = "    rollingUpdate:\n      maxUnavailable: 1\n"

// daemonStatus waits until the status of the DaemonSet is that of its newest generation and passes the check.
func (e *env) daemonStatus(what string, check func(c *require.Assertions, set *v1beta1.DaemonSet)) {
	e.t.Helper()
	e.eventually(what, func(c *require.Assertions, ctx context.Context) {
		set, err := e.kruise.AppsV1beta1().DaemonSets(e.namespace).Get(ctx, "ds", metav1.GetOptions{})
		c.NoError(err)
		c.Equal(set.Generation, set.Status.ObservedGeneration, "observedGeneration")
		check(c, set)
	})
}

// daemonUpdated waits until the newest generation has a number of updated Pods, and all Pods are available.
func (e *env) daemonUpdated(updated, nodes int) {
	e.t.Helper()
	e.daemonStatus(sprintf("%d of %d nodes updated", updated, nodes), func(c *require.Assertions, set *v1beta1.DaemonSet) {
		c.EqualValues(updated, set.Status.UpdatedNumberScheduled, "updated")
		c.EqualValues(nodes, set.Status.NumberAvailable, "available")
		c.Len(e.pods("ds"), nodes)
	})
}

// tags returns the tags of the DaemonSet's images by node.
func (e *env) tags() map[string]string {
	tags := map[string]string{}
	for _, pod := range e.pods("ds") {
		_, tags[pod.Spec.NodeName], _ = strings.Cut(statusOf(&pod, "main").Image, ":")
	}
	return tags
}

// A partition limits the creation of Pods and an update to some nodes, the highest name first. While the update is paused, only new Pods
// have the new revision. A selector limits it to matching nodes. A rollback uses the old revision again, and
// so does a revision that an operator restores.
// Cases daemonset 10, 11, 12, 13, 18, 21.
func TestDaemonSetUpdatesTheNodesThatItIsToldTo(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	size := len(nodes)
	require.Equal(t, 3, size)
	canary := e.nodeLabel() + "-canary"
	t.Cleanup(func() { e.labelNode(context.WithoutCancel(t.Context()), nodes[0], canary, "null") })
	text := func(image, limits string) string {
		return e.daemonManifest("ds", "demo:v1", "demo:"+image,
			"  updateStrategy:\n", "  scaleStrategy: {partitionedScaling: true}\n  updateStrategy:\n", oneAtATime, "    rollingUpdate: {maxUnavailable: 1, "+limits+"}\n")
	}
	e.apply(text("v1", "partition: 2"))
	e.daemonStatus("one Pod", func(c *require.Assertions, set *v1beta1.DaemonSet) {
		c.Equal([]int32{3, 1, 1}, []int32{set.Status.DesiredNumberScheduled, set.Status.CurrentNumberScheduled, set.Status.NumberAvailable})
	})
	assert.Len(t, e.pods("ds"), 1)
	e.apply(text("v1", "partition: 0"))
	first := e.daemonReady("ds", int32(size)).Status.UpdateRevision

	e.apply(text("v2", "partition: 2"))
	e.daemonUpdated(1, size)
	assert.Equal(t, map[string]string{nodes[0]: "v1", nodes[1]: "v1", nodes[2]: "v2"}, e.tags())

	e.apply(text("v2", "partition: 0, paused: true"))
	e.labelNode(t.Context(), nodes[0], e.nodeLabel(), `"other"`)
	e.daemonUpdated(1, size-1)
	e.labelNode(t.Context(), nodes[0], e.nodeLabel(), `"chosen"`)
	e.daemonUpdated(2, size)
	assert.Equal(t, map[string]string{nodes[0]: "v2", nodes[1]: "v1", nodes[2]: "v2"}, e.tags(), "paused")

	e.apply(text("v1", "partition: 0, selector: {matchLabels: {"+canary+": \"yes\"}}"))
	e.daemonStatus("the old revision is the new one", func(c *require.Assertions, set *v1beta1.DaemonSet) {
		c.Equal(first, set.Status.UpdateRevision)
		c.EqualValues(1, set.Status.UpdatedNumberScheduled)
	})
	e.labelNode(t.Context(), nodes[0], canary, `"yes"`)
	e.daemonUpdated(2, size)
	assert.Equal(t, map[string]string{nodes[0]: "v1", nodes[1]: "v1", nodes[2]: "v2"}, e.tags(), "selected")
	e.apply(text("v1", "partition: 0"))
	e.daemonReady("ds", int32(size))
	revisions, err := e.core.AppsV1().ControllerRevisions(e.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, revisions.Items, 2)
	e.restoreRevision("ds-" + first)
}

// restoreRevision creates a revision with the template of the newest one, as an operator does from a backup. The Pods get its name, and
// stay.
func (e *env) restoreRevision(name string) {
	e.t.Helper()
	revisions := e.core.AppsV1().ControllerRevisions(e.namespace)
	newest, err := revisions.Get(e.t.Context(), name, metav1.GetOptions{})
	require.NoError(e.t, err)
	before := restarts(e.pods("ds"))
	restored := newest.DeepCopy()
	restored.ObjectMeta = metav1.ObjectMeta{Name: "ds-restored", Labels: newest.Labels, OwnerReferences: newest.OwnerReferences}
	restored.Revision++
	_, err = revisions.Create(e.t.Context(), restored, metav1.CreateOptions{})
	require.NoError(e.t, err)
	e.eventually("the restored revision is the only one of its template", func(c *require.Assertions, ctx context.Context) {
		_, err := revisions.Get(ctx, name, metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err), "%v", err)
		for _, pod := range e.pods("ds") {
			c.Equal("restored", pod.Labels["controller-revision-hash"], pod.Name)
		}
	})
	assert.Equal(e.t, before, restarts(e.pods("ds")))
}

// A preDelete hook holds one Pod of an update at a time, and the Pod of a node that no longer matches. Held Pods serve.
// Cases daemonset 15, 23.
func TestHooksHoldPodsOfADaemonSet(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	text := func(image string) string {
		return e.daemonManifest("ds", "demo:v1", image,
			"  updateStrategy:\n", "  lifecycle: {preDelete: {labelsHandler: {hook: \"on\"}}}\n  updateStrategy:\n",
			"labels: {app: NAME}\n    spec:", "labels: {app: ds, hook: \"on\"}\n    spec:")
	}
	e.apply(text("demo:v1"))
	e.daemonReady("ds", int32(len(nodes)))
	old := byUID(e.pods("ds"))
	history := e.watchPods()
	e.apply(text("demo:v2"))
	for range nodes {
		pod := e.held("ds", "PreparingDelete")
		e.daemonStatus("the hook holds one Pod", func(c *require.Assertions, set *v1beta1.DaemonSet) {
			c.EqualValues(len(nodes), set.Status.NumberReady)
			c.Len(e.pods("ds"), len(nodes))
		})
		e.kubectl("label", "pod", pod.Name, "hook-")
		e.gone(&pod)
	}
	e.daemonReady("ds", int32(len(nodes)))
	held := map[string]bool{}
	for _, seen := range history() {
		if _, was := old[string(seen.UID)]; !was {
			continue
		}
		_, hooked := seen.Labels["hook"]
		assert.False(t, hooked && seen.DeletionTimestamp != nil, "%s is deleted in spite of its hook", seen.Name)
		held[seen.Name] = hooked && seen.Labels[lifecycleState] == string(pub.LifecycleStatePreparingDelete)
		count := 0
		for _, now := range held {
			if now {
				count++
			}
		}
		assert.LessOrEqual(t, count, 1, "Pods that are held at %s", seen.ResourceVersion)
	}

	e.labelNode(t.Context(), nodes[0], e.nodeLabel(), `"other"`)
	pod := e.held("ds", "PreparingDelete")
	assert.Equal(t, nodes[0], pod.Spec.NodeName)
	assert.True(t, podstate.Ready(&pod))
	e.kubectl("label", "pod", pod.Name, "hook-")
	e.daemonReady("ds", int32(len(nodes)-1))
}

// A Pod that its node ended is replaced, with an event. An update that cannot run stops at one node, and the next one replaces the broken
// Pod first. It recreates all, because their Pods cannot be updated in place yet. Under OnDelete, only a deleted Pod is updated.
// Cases daemonset 5, 9, 20, 25.
func TestDaemonSetReplacesFailedAndBrokenPods(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	e.apply(e.daemonManifest("ds"))
	e.daemonReady("ds", int32(len(nodes)))
	pod := e.podOn(nodes[0])
	history := e.watchPods()
	e.kubectl("patch", "pod", pod.Name, "--type=merge", "-p", `{"spec":{"activeDeadlineSeconds":1}}`)
	e.gone(pod)
	e.daemonReady("ds", int32(len(nodes)))
	assert.True(t, slices.ContainsFunc(history(), func(seen seenPod) bool {
		return seen.UID == pod.UID && seen.Status.Phase == corev1.PodFailed
	}), "the node ended the Pod")
	e.said("FailedDaemonPod", pod.Name)

	last := nodes[len(nodes)-1]
	e.apply(e.daemonManifest("ds", "demo:v1", "none:v1"))
	e.eventually("a Pod waits for the image", func(c *require.Assertions, _ context.Context) {
		pods := e.pods("ds")
		c.Len(pods, len(nodes))
		waiting := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return waitsForImage(&pod) })
		c.NotEqual(-1, waiting)
		c.Equal(last, pods[waiting].Spec.NodeName)
	})
	e.daemonStatus("one node is unavailable", func(c *require.Assertions, set *v1beta1.DaemonSet) {
		c.EqualValues(1, set.Status.NumberUnavailable)
	})
	serving := 0
	for _, pod := range e.pods("ds") {
		if podstate.Ready(&pod) {
			serving++
		}
	}
	assert.Equal(t, len(nodes)-1, serving)
	old := byUID(e.pods("ds"))
	e.apply(e.daemonManifest("ds", "demo:v1", "demo:v2", "rollingUpdate:", "rollingUpdate:\n      rollingUpdateType: InPlaceIfPossible"))
	e.daemonReady("ds", int32(len(nodes)))
	for uid, pod := range byUID(e.pods("ds")) {
		assert.NotContains(t, old, uid, "Pods without the gate are recreated")
		assert.True(t, podstate.HasGate(&pod, pub.InPlaceUpdateReadyConditionType))
	}

	e.apply(e.daemonManifest("ds", "  updateStrategy:\n"+oneAtATime, "  updateStrategy: {type: OnDelete}\n"))
	e.daemonUpdated(0, len(nodes))
	e.kubectl("delete", "pod", e.podOn(nodes[1]).Name)
	e.daemonUpdated(1, len(nodes))
	assert.Equal(t, "v1", e.tags()[nodes[1]])
}

// gone waits until a Pod does not exist. Another one may have its name.
func (e *env) gone(pod *corev1.Pod) {
	e.t.Helper()
	e.eventually(pod.Name+" is gone", func(c *require.Assertions, ctx context.Context) {
		now, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil {
			c.NotEqual(pod.UID, now.UID)
			return
		}
		c.True(apierrors.IsNotFound(err), "%v", err)
	})
}

// podOn returns the Pod of the DaemonSet on a node.
func (e *env) podOn(node string) *corev1.Pod {
	e.t.Helper()
	pods := e.pods("ds")
	at := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == node })
	require.NotEqual(e.t, -1, at, node)
	return &pods[at]
}

// With a surge of all nodes, each node has a second Pod at once, and keeps its old one until the new one has been ready for
// minReadySeconds.
// Cases daemonset 16, 27.
func TestSurgeKeepsOldPodsForMinReadySeconds(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	const seconds = 8
	surge := []string{
		"maxUnavailable: 1", "maxSurge: 100%", "  updateStrategy:\n", sprintf("  minReadySeconds: %d\n  updateStrategy:\n", seconds),
	}
	e.apply(e.daemonManifest("ds", surge...))
	e.daemonReady("ds", int32(len(nodes)))
	old := map[string]string{}
	for uid, pod := range byUID(e.pods("ds")) {
		old[pod.Spec.NodeName] = uid
	}
	history := e.watchPods()
	e.apply(e.daemonManifest("ds", append(surge, "demo:v1", "demo:v2")...))
	e.daemonReady("ds", int32(len(nodes)))
	e.eventually("one Pod on each node", func(c *require.Assertions, _ context.Context) { c.Equal(nodes, nodesOf(e.pods("ds"))) })
	second, ready, deleted := map[string]bool{}, map[string]time.Time{}, map[string]time.Time{}
	for _, seen := range history() {
		node := nodefit.NodeOf(&seen.Pod)
		switch was := old[node] == string(seen.UID); {
		case was && seen.DeletionTimestamp != nil && deleted[node].IsZero():
			deleted[node] = seen.at
			assert.Len(t, second, len(nodes), "each node has a second Pod before the first one goes")
		case !was:
			second[node] = true
			if podstate.Ready(&seen.Pod) {
				ready[node] = condition(&seen.Pod, corev1.PodReady).LastTransitionTime.Time
			}
		}
	}
	for _, node := range nodes {
		assert.Greater(t, deleted[node].Sub(ready[node]), seconds*time.Second, node)
	}
}
