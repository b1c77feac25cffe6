//go:build e2e && fault

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/hack/localcluster"
)

// reboot kills a node with its kubelet and containerd, and starts it again.
func reboot(t *testing.T, node int) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, err := localcluster.New(localcluster.MainConfig(root))
	require.NoError(t, err)
	require.NoError(t, cluster.KillNode(t.Context(), node))
	require.NoError(t, cluster.StartNode(t.Context(), node))
}

// onNode returns the Pod of an app on a node.
func (e *env) onNode(app, node string) *corev1.Pod {
	e.t.Helper()
	for _, pod := range e.pods(app) {
		if pod.Spec.NodeName == node {
			return &pod
		}
	}
	require.Failf(e.t, "no Pod", "of %s on %s", app, node)
	return nil
}

// TestDaemonSetIsUpdatedWhileANodeRebootsAndAnotherIsDrained updates a DaemonSet in place. Meanwhile one node reboots, and the Pod of
// another is evicted from it. The Pods on the other nodes are the same as before, and each node ends with one Pod of the new image.
func TestDaemonSetIsUpdatedWhileANodeRebootsAndAnotherIsDrained(t *testing.T) {
	e := newEnv(t)
	nodes := e.choose()
	require.GreaterOrEqual(t, len(nodes), 3)
	rebooted, drained, last := nodes[0], nodes[1], nodes[len(nodes)-1]
	inPlace := []string{"rollingUpdate:", "rollingUpdate:\n      rollingUpdateType: InPlaceIfPossible"}
	e.apply(e.daemonManifest("ds", inPlace...))
	e.daemonReady("ds", int32(len(nodes)))
	before := map[string]*corev1.Pod{}
	for _, name := range nodes {
		before[name] = e.onNode("ds", name)
	}
	e.cordons(drained)

	e.apply(e.daemonManifest("ds", append(inPlace, "demo:v1", "demo:v2")...))
	e.eventually("the update begins", func(c *require.Assertions, _ context.Context) {
		c.Equal("kruise.local/demo:v2", e.onNode("ds", last).Spec.Containers[0].Image, "the highest name first")
	})
	var number int
	_, err := fmt.Sscanf(rebooted, "node-%d", &number)
	require.NoError(t, err)
	reboot(t, number)
	e.kubectl("drain", drained, "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--pod-selector=app=ds", "--timeout=120s")
	e.daemonReady("ds", int32(len(nodes)))

	assert.Equal(t, nodes, nodesOf(e.pods("ds")))
	for _, name := range nodes {
		pod := e.onNode("ds", name)
		status := statusOf(pod, "main")
		assert.Equal(t, "kruise.local/demo:v2", status.Image, name)
		switch name {
		case drained:
			assert.NotEqual(t, before[name].UID, pod.UID, "evicted")
		case rebooted:
			assert.Equal(t, before[name].UID, pod.UID, "the reboot keeps the Pod")
			assert.Positive(t, status.RestartCount)
		default:
			assert.Equal(t, before[name].UID, pod.UID, name)
			assert.Equal(t, statusOf(before[name], "main").RestartCount+1, status.RestartCount, name)
		}
	}
}

// TestVolumesOutliveAReboot checks that the Pods of a StatefulSet find their files again after their node rebooted.
func TestVolumesOutliveAReboot(t *testing.T) {
	e := newEnv(t)
	e.apply(statefulSet(ourGroup, "        volumeMounts:\n", diary+"        volumeMounts:\n"))
	e.settledSet(3, "web-0", "web-1", "web-2")
	before, lines := e.uids(), e.firstLines("web-0", "web-1", "web-2")
	pods := map[string]corev1.Pod{}
	for _, pod := range e.pods("web") {
		pods[pod.Name] = pod
	}
	victim := pods["web-0"]
	reboot(t, nodeOf(t, &victim))
	e.eventually("the Pods of the node have started again", func(c *require.Assertions, _ context.Context) {
		for _, pod := range e.pods("web") {
			if pod.Spec.NodeName == victim.Spec.NodeName {
				old := pods[pod.Name]
				c.Greater(statusOf(&pod, "main").RestartCount, statusOf(&old, "main").RestartCount, pod.Name)
			}
		}
	})
	e.settledSet(3, "web-0", "web-1", "web-2")
	assert.Equal(t, before, e.uids(), "no Pod was replaced")
	assert.Equal(t, lines, e.firstLines("web-0", "web-1", "web-2"), "each file begins as before")
}
