//go:build e2e

package localcluster

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/hack/images"
)

// ownerDir is the environment variable that makes this test's program start the init process of a cluster, and wait.
const ownerDir = "OWNER_DIR"

func own(t *testing.T, dir string) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	config := OwnedConfig(root, "owned")
	config.Dir, config.BinDir = filepath.Join(dir, "cluster"), dir
	cluster, err := New(config)
	require.NoError(t, err)
	init, err := cluster.startInitProcess(t.Context(), "init", 0)
	require.NoError(t, err)
	node, err := cluster.startInitProcess(t.Context(), "node-1", init.PID)
	require.NoError(t, err)
	fmt.Println(init.PID, node.PID)
	<-time.After(time.Minute)
}

// The init processes of a cluster and of its nodes end when the program that started them is killed.
func TestOwnedClusterEndsWithAKilledTest(t *testing.T) {
	if dir := os.Getenv(ownerDir); dir != "" {
		own(t, dir)
		return
	}
	dir := t.TempDir()
	require.NoError(t, images.Compile(t.Context(), images.Compilation{
		Dir: "../..", Package: "./hack/localcluster/initprocess", Out: filepath.Join(dir, initProgram),
	}))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), ownerDir+"="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	var pids [2]int
	_, err = fmt.Sscan(line, &pids[0], &pids[1])
	require.NoError(t, err, line)
	var records []record
	for _, pid := range pids {
		r, err := newRecord(pid, nil)
		require.NoError(t, err)
		require.True(t, r.alive())
		records = append(records, r)
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	for _, r := range records {
		err := await(t.Context(), 10*time.Second, func(context.Context) error {
			if r.alive() {
				return fmt.Errorf("process %d still runs", r.PID)
			}
			return nil
		})
		assert.NoError(t, err)
	}
}
