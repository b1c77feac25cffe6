package critest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// containerdConfig selects the native snapshotter. It copies files to unpack images, which works on every file system.
const containerdConfig = `version = 2
root = "%[1]s/root"
state = "%[1]s/state"
[grpc]
  address = "%[1]s/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "%[1]s/cni"
`

// StartContainerd runs the containerd of the machine and returns a function that stops it. All state is below dir:
// the socket is containerd/containerd.sock, and the images are below root.
func StartContainerd(t *testing.T, dir string) (stop func()) {
	t.Helper()
	config := filepath.Join(dir, "containerd.toml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, containerdConfig, dir), 0o600))
	log, err := os.OpenFile(filepath.Join(dir, "containerd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	// The context of the test ends before its cleanups run, and stop is one of them.
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
		_ = command.Wait() // Wait returns an error, because the process was killed.
		assert.NoError(t, log.Close())
	}
	t.Cleanup(stop)
	return stop
}
