//go:build containerd

package cri_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/nodeagent/cri"
)

const containerdConfig = `version = 2
root = "%[1]s/root"
state = "%[1]s/state"
[grpc]
  address = "%[1]s/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "%[1]s/cni"
`

// startContainerd runs the machine's containerd with all its state below dir, and returns how to end it.
func startContainerd(t *testing.T, dir string) (stop func()) {
	t.Helper()
	config := filepath.Join(dir, "containerd.toml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, containerdConfig, dir), 0o600))
	log, err := os.OpenFile(filepath.Join(dir, "containerd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), "containerd", "--config", config)
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	var ended bool
	stop = func() {
		if ended {
			return
		}
		ended = true
		assert.NoError(t, command.Process.Kill())
		_ = command.Wait() // it was killed, which is an error of its own
		assert.NoError(t, log.Close())
	}
	t.Cleanup(stop)
	return stop
}

// detect waits for the runtime to answer.
func detect(t *testing.T, dir string) cri.Runtimes {
	t.Helper()
	var runtimes cri.Runtimes
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		sockets, err := cri.Sockets(dir, "")
		require.NoError(c, err)
		runtimes, err = cri.Detect(t.Context(), sockets)
		require.NoError(c, err)
	}, 30*time.Second, 100*time.Millisecond)
	t.Cleanup(func() { assert.NoError(t, runtimes.Close(context.WithoutCancel(t.Context()))) })
	return runtimes
}

// TestContainerd is rows 2 and 21 with the real runtime.
func TestContainerd(t *testing.T) {
	dir := runDir(t)
	stop := startContainerd(t, dir)
	runtimes := detect(t, dir)
	require.Len(t, runtimes, 1)
	assert.Equal(t, "containerd", runtimes.Default().Name)
	assert.NotEmpty(t, runtimes.Default().Version)
	assert.Equal(t, filepath.Join(dir, "containerd/containerd.sock"), runtimes.Default().Socket)
	require.NoError(t, cri.NewCheck(runtimes, clock.RealClock{}).Check(t.Context()))

	stop()
	require.NoError(t, os.Remove(runtimes.Default().Socket))
	fake := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	check := cri.NewCheck(runtimes, fake)
	require.Error(t, check.Check(t.Context()))

	startContainerd(t, dir)
	now := fake.Now()
	require.Eventually(t, func() bool {
		now = now.Add(11 * time.Second)
		fake.SetTime(now)
		return check.Check(t.Context()) == nil
	}, 30*time.Second, 100*time.Millisecond)
	images, err := runtimes.Default().Images.ListImages(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, images)
}
