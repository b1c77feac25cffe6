//go:build e2e && fault

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// TestWorkloadsWithTheirFeatureGates turns gates on that are off by default.
// Cases daemonset 29, 30.
// Cases statefulset 43, 47.
func TestWorkloadsWithTheirFeatureGates(t *testing.T) {
	e := newEnv(t)
	restore := e.controllerArgs("--feature-gates=StatefulSetStartOrdinal=true,InPlaceWorkloadVerticalScaling=true," +
		"PreDownloadImageForInPlaceUpdate=true,PreDownloadImageForDaemonSetUpdate=true")
	defer restore()
	t.Run("gates", func(t *testing.T) {
		t.Run("the first number of a StatefulSet", startOfAStatefulSet)
		t.Run("resources of a StatefulSet", resourcesOfAStatefulSet)
		t.Run("resources of a DaemonSet", resourcesOfADaemonSet)
		t.Run("images of a StatefulSet", imagesOfAStatefulSet)
		t.Run("images of a DaemonSet", imagesOfADaemonSet)
	})
}

// Another first number moves the Pods. Those that come back find their files.
func startOfAStatefulSet(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(ordinals string) string { return parallelSet("  selector:\n", ordinals+"  selector:\n") }
	e.apply(text("  ordinals: {start: 3}\n"))
	e.settledSet(2, "web-3", "web-4")
	before, lines := e.uids(), e.firstLines("web-3", "web-4")
	e.apply(text("  ordinals: {start: 2}\n"))
	e.settledSet(2, "web-2", "web-3")
	assert.Equal(t, before["web-3"], e.uids()["web-3"])
	e.apply(text("  ordinals: {start: 3}\n"))
	e.settledSet(2, "web-3", "web-4")
	assert.Equal(t, before["web-3"], e.uids()["web-3"])
	assert.Equal(t, lines, e.firstLines("web-3", "web-4"))
	e.apply(text(""))
	e.settledSet(2, "web-0", "web-1")
	assert.Len(t, e.claims(), 5)
}

// Requests change in place without a restart. A change of the class of service recreates the Pods, with their volumes.
func resourcesOfAStatefulSet(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const requests = "          requests: {cpu: 10m, memory: 16Mi}\n"
	text := func(resources string) string {
		return statefulSet(ourGroup, orderedPolicy, parallelPolicy, "replicas: 3", "replicas: 2", inOrderUpdate, inPlaceUpdate, noGates, inPlaceGate,
			requests, resources)
	}
	e.apply(text(requests))
	e.settledSet(2, "web-0", "web-1")
	before := e.uids()
	volumes := e.kubectl("get", "persistentvolumeclaims", "--output=jsonpath={.items[*].spec.volumeName}")
	e.apply(text("          requests: {cpu: 25m, memory: 16Mi}\n"))
	e.eventually("the nodes have the new requests", func(c *require.Assertions, _ context.Context) {
		for _, pod := range e.pods("web") {
			status := statusOf(&pod, "main")
			c.NotNil(status.Resources)
			c.Equal("25m", status.Resources.Requests.Cpu().String())
			c.Zero(status.RestartCount)
		}
	})
	e.settledSet(2, "web-0", "web-1")
	assert.Equal(t, before, e.uids())
	e.apply(text("          requests: {cpu: 25m, memory: 32Mi}\n          limits: {cpu: 25m, memory: 32Mi}\n"))
	e.replacedPods(before, "web-0", "web-1")
	e.settledSet(2, "web-0", "web-1")
	assert.Equal(t, volumes, e.kubectl("get", "persistentvolumeclaims", "--output=jsonpath={.items[*].spec.volumeName}"))
}

// Image and requests change in place with one restart.
func resourcesOfADaemonSet(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	inPlace := []string{"rollingUpdate:", "rollingUpdate:\n      rollingUpdateType: InPlaceIfPossible"}
	e.apply(e.daemonManifest("ds", inPlace...))
	e.daemonReady("ds", int32(len(nodes)))
	old := byUID(e.pods("ds"))
	e.apply(e.daemonManifest("ds", append(inPlace, "demo:v1", "demo:v2", "cpu: 10m", "cpu: 25m")...))
	e.daemonReady("ds", int32(len(nodes)))
	for uid, pod := range byUID(e.pods("ds")) {
		require.Contains(t, old, uid, "the same Pods")
		status := statusOf(&pod, "main")
		was := old[uid]
		assert.Equal(t, statusOf(&was, "main").RestartCount+1, status.RestartCount)
		assert.Equal(t, "25m", status.Resources.Requests.Cpu().String())
		assert.Equal(t, "kruise.local/demo:v2", status.Image)
	}
}

// pulledAhead waits until the nodes have pulled the new image for a workload, and calls finish. Then no job is left.
func (e *env) pulledAhead(kind string, finish func()) {
	e.t.Helper()
	jobs := e.kruise.AppsV1beta1().ImagePullJobs(e.namespace)
	e.eventually("the image is pulled ahead of the update", func(c *require.Assertions, ctx context.Context) {
		list, err := jobs.List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Len(list.Items, 1)
		job := &list.Items[0]
		c.Equal("kruise.local/demo:v2", job.Spec.Image)
		c.Equal(kind, metav1.GetControllerOf(job).Kind)
		c.NotNil(job.Status.CompletionTime)
		c.Equal(job.Status.Desired, job.Status.Succeeded)
	})
	finish()
	e.eventually("the job is deleted after the update", func(c *require.Assertions, ctx context.Context) {
		list, err := jobs.List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Empty(list.Items)
	})
}

// The nodes of Pods that a partition holds back pull the image ahead.
func imagesOfAStatefulSet(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(image, partition string) string {
		return statefulSet(ourGroup, orderedPolicy, parallelPolicy, "replicas: 3", "replicas: 4", "demo:v1", image,
			inOrderUpdate, inPlaceUpdate+"      partition: "+partition+"\n", noGates, inPlaceGate)
	}
	names := []string{"web-0", "web-1", "web-2", "web-3"}
	e.apply(text("demo:v1", "0"))
	e.settledSet(4, names...)
	before := e.uids()
	e.apply(text("demo:v2", "4"))
	e.pulledAhead("StatefulSet", func() {
		e.apply(text("demo:v2", "0"))
		e.settledSet(4, names...)
	})
	assert.Equal(t, before, e.uids())
}

// The nodes of Pods that a partition holds back pull the image ahead, even if the update recreates Pods.
func imagesOfADaemonSet(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	text := func(image, partition string) string {
		return e.daemonManifest("ds", "demo:v1", image, oneAtATime, strings.TrimSuffix(oneAtATime, "\n")+"\n      partition: "+partition+"\n")
	}
	e.apply(text("demo:v1", "0"))
	e.daemonReady("ds", int32(len(nodes)))
	e.apply(text("demo:v2", "3"))
	e.pulledAhead("DaemonSet", func() {
		e.daemonStatus("no Pod is updated", func(c *require.Assertions, set *v1beta1.DaemonSet) { c.Zero(set.Status.UpdatedNumberScheduled) })
		e.apply(text("demo:v2", "0"))
		e.daemonReady("ds", int32(len(nodes)))
	})
}
