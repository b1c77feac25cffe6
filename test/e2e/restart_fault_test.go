//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/hack/localcluster"
)

// nodeOf returns the number of the Pod's node.
func nodeOf(t *testing.T, pod *corev1.Pod) (node int) {
	t.Helper()
	_, err := fmt.Sscanf(pod.Spec.NodeName, "node-%d", &node)
	require.NoError(t, err)
	return node
}

// restartHelper is a process that a restart needs.
type restartHelper struct {
	// node is the number of the node on which the Pod runs. The test of this helper then runs beside those of other nodes. It is zero if the
	// Pod may run on any node, and the test runs alone.
	node int
	kill func(e *env, node int)
	// stopsTwice is true if killing the helper can interrupt the stop. The stop then starts again with the same instance.
	stopsTwice bool
}

// TestRestartsOutliveTheirHelpers kills a process on the node that a restart needs, in the middle of the restart. Each node loses another
// one. A kubelet that starts reports the Pods of its node as not ready for a moment, so the node of the apiserver keeps its kubelet.
func TestRestartsOutliveTheirHelpers(t *testing.T) {
	servers := newEnv(t).apiservers()
	require.Len(t, servers, 1)
	kept := nodeOf(t, &servers[0])
	other := func(number int) int { return (kept-1+number)%3 + 1 }
	restartsOutlive(t, map[string]restartHelper{
		"agent": {node: kept, stopsTwice: true, kill: func(e *env, node int) {
			e.kill("control-plane=daemon", sprintf("spec.nodeName=node-%d", node))
		}},
		"kubelet": {node: other(1), kill: func(e *env, node int) {
			killComponent(e.t, localcluster.KubeletComponent(node))
		}},
		"containerd": {node: other(2), stopsTwice: true, kill: func(e *env, node int) {
			killComponent(e.t, localcluster.ContainerdComponent(node))
		}},
	})
}

// restartsOutlive kills the helper while the hook runs, and again around the time when the container has stopped. Each request
// succeeds. Of all instances of the container that ever ran, only the old one has ended: the agent stopped that instance, and
// nothing stopped a later one. The other container is not touched.
func restartsOutlive(t *testing.T, helpers map[string]restartHelper) {
	for name, helper := range helpers {
		t.Run(name, func(t *testing.T) {
			changes := []string{"# APP", `lifecycle: {preStop: {exec: {command: [/demo, sleep, "4"]}}}`}
			if helper.node != 0 {
				t.Parallel()
				changes = append(changes, "spec:\n", sprintf("spec:\n  nodeSelector: {kubernetes.io/hostname: node-%d}\n", helper.node))
			}
			e := newEnv(t)
			first := e.runPod(changes...)
			history := e.watchPods()
			e.restartWhileKilled("hook", "app", helper)
			second := e.pod()
			e.restartWhileKilled("stopped", "sidecar", helper)
			third := e.pod()

			versions := []*corev1.Pod{first, second, third}
			for _, seen := range history() {
				versions = append(versions, &seen.Pod)
			}
			for container, at := range map[string]*corev1.Pod{"app": second, "sidecar": third} {
				before, after := containerStatus(t, first, container).ContainerID, containerStatus(t, at, container).ContainerID
				assert.NotEqual(t, before, after, container)
				got := e.instances(versions, container)
				assert.ElementsMatch(t, []string{before, after}, got.ran, "%s: the instances that ran", container)
				assert.Equal(t, []string{after}, got.running, "%s: the instance that runs", container)
			}
		})
	}
}

// restartWhileKilled asks for a restart and kills the helper once the agent has started the restart.
func (e *env) restartWhileKilled(request, container string, helper restartHelper) {
	e.t.Helper()
	e.apply(recreate(request, "[{name: "+container+"}]", "strategy: {forceRecreate: true}"))
	e.begun(request)
	helper.kill(e, nodeOf(e.t, e.pod()))
	state := e.succeeded(request).Status.ContainerRecreateStates[0]
	assert.True(e.t, state.IsKilled, "%+v", state)
	if helper.stopsTwice {
		return
	}
	e.eventually("the agent tells of one stop", func(c *require.Assertions, ctx context.Context) {
		count, err := e.stopsByAgent(ctx, request, container)
		c.NoError(err)
		c.EqualValues(1, count)
	})
}
