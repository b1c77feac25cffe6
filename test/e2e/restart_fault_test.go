//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/hack/localcluster"
)

// nodeOf is the number of the Pod's node.
func nodeOf(t *testing.T, pod *corev1.Pod) (node int) {
	t.Helper()
	_, err := fmt.Sscanf(pod.Spec.NodeName, "node-%d", &node)
	require.NoError(t, err)
	return node
}

// TestRestartsOutliveTheirHelpers ends what a restart needs on the node, as a crash would, in the middle of the restart.
func TestRestartsOutliveTheirHelpers(t *testing.T) {
	restartsOutlive(t, map[string]func(e *env, node int){
		"row 30 agent": func(e *env, _ int) { e.kill("control-plane=daemon") },
		"kubelet":      func(e *env, node int) { killComponent(e.t, localcluster.KubeletComponent(node)) },
		"containerd":   func(e *env, node int) { killComponent(e.t, localcluster.ContainerdComponent(node)) },
	})
}

// restartsOutlive kills while the hook runs, and once the container has stopped. The restart ends well, and the container is
// restarted once.
func restartsOutlive(t *testing.T, kills map[string]func(e *env, node int)) {
	for name, kill := range kills {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			node := nodeOf(t, e.runPod("# APP", `lifecycle: {preStop: {exec: {command: [/demo, sleep, "4"]}}}`))
			e.apply(recreate("hook", app, "strategy: {forceRecreate: true}"))
			e.begun("hook")
			kill(e, node)
			e.succeeded("hook")
			e.restartedTimes(1, 0)

			e.apply(recreate("stopped", "[{name: sidecar}]", "strategy: {forceRecreate: true}"))
			e.begun("stopped")
			kill(e, node)
			e.succeeded("stopped")
			e.restartedTimes(1, 1)
		})
	}
}
