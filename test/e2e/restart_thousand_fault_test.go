//go:build e2e && fault

package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/hack/localcluster"
)

// TestThousandRestarts makes 1,000 requests on 20 Pods, 50 on each.
func TestThousandRestarts(t *testing.T) { restartLoad(t, newEnv(t), 20, 50) }

// TestRestartsOutliveTheirServers kills the controller and the apiserver in the middle of a restart.
func TestRestartsOutliveTheirServers(t *testing.T) {
	restartsOutlive(t, map[string]restartHelper{
		"controller": {kill: func(e *env, _ int) { e.kill("control-plane=controller-manager") }},
		"apiserver":  {kill: func(e *env, _ int) { e.kill("control-plane=apiserver") }},
	})
}

// TestRestartsUnderTheStockBackOff gives a node's kubelet the default back-off instead of that of local clusters. The second
// restart within 10 s waits for the back-off. The request's status says so, and until when.
func TestRestartsUnderTheStockBackOff(t *testing.T) {
	e := newEnv(t)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	config := localcluster.MainConfig(root)
	cluster, err := localcluster.New(config)
	require.NoError(t, err)
	file := filepath.Join(config.Dir, "node-1", "kubelet.yaml")
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	kubelet := func(ctx context.Context, content []byte) {
		require.NoError(t, os.WriteFile(file, content, 0o600))
		require.NoError(t, cluster.RestartComponent(ctx, localcluster.KubeletComponent(1)))
	}
	t.Cleanup(func() { kubelet(context.WithoutCancel(t.Context()), before) })
	stock := bytes.ReplaceAll(before, []byte("crashLoopBackOff: {maxContainerRestartPeriod: 1s}"), nil)
	require.NotEqual(t, before, stock)
	kubelet(t.Context(), stock)

	e.runPod("terminationGracePeriodSeconds: 30", "nodeName: node-1")
	messages := e.messages()
	e.apply(recreate("one", app, "strategy: {forceRecreate: true}"))
	e.apply(recreate("two", app, "strategy: {forceRecreate: true}"))
	e.succeeded("one")
	e.succeeded("two")
	e.restartedTimes(2, 0)
	status := containerStatus(t, e.pod(), "app")
	ended := status.LastTerminationState.Terminated.FinishedAt
	assert.Contains(t, messages(), "waiting for the kubelet to start container app again: it was restarted too often, and is backed off until "+
		ended.Add(10*time.Second).UTC().Format(time.RFC3339))
	assert.GreaterOrEqual(t, status.State.Running.StartedAt.Sub(ended.Time), 10*time.Second)
}

// TestRestartOnANodeThatReboots kills the node with its agent, kubelet and containerd while the hook runs. All containers of the
// Pod are new afterwards, which is what the request asked for.
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
