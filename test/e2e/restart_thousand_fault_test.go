//go:build e2e && fault

package e2e

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/hack/localcluster"
)

// TestThousandRestarts makes 1,000 requests on 20 Pods, 50 on each.
func TestThousandRestarts(t *testing.T) { restartLoad(t, newEnv(t), 20, 50) }

// TestRestartsOutliveTheirServers ends the controller and the apiserver in the middle of a restart.
func TestRestartsOutliveTheirServers(t *testing.T) {
	restartsOutlive(t, map[string]func(e *env, node int){
		"controller": func(e *env, _ int) { e.kill("control-plane=controller-manager") },
		"apiserver":  func(e *env, _ int) { e.kill("control-plane=apiserver") },
	})
}

// TestRestartOnANodeThatReboots pulls the plug of the node, with agent, kubelet and containerd on it, while the hook runs. All
// containers of the Pod are new then, which is what the request wanted.
func TestRestartOnANodeThatReboots(t *testing.T) {
	e := newEnv(t)
	node := nodeOf(t, e.runPod("# APP", `lifecycle: {preStop: {exec: {command: [/demo, sleep, "20"]}}}`))
	e.apply(recreate("r", both))
	e.begun("r")
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, err := localcluster.New(localcluster.MainConfig(root))
	require.NoError(t, err)
	require.NoError(t, cluster.KillNode(t.Context(), node))
	require.NoError(t, cluster.StartNode(t.Context(), node))
	e.succeeded("r")
	pod := e.pod()
	assert.Positive(t, containerStatus(t, pod, "app").RestartCount)
	assert.Positive(t, containerStatus(t, pod, "sidecar").RestartCount)
}
