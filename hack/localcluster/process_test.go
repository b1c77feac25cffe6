package localcluster

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program that was killed between the start of a process and the writing of its pid file leaves the process behind.
func TestProcessesWithoutAPidFileAreKilled(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	start := func(name string) record {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.Symlink(sleep, path))
		cmd := exec.CommandContext(t.Context(), path, "60")
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		r, err := newRecord(cmd.Process.Pid, []string{path})
		require.NoError(t, err)
		return r
	}
	orphan, other := start("etcd"), start("kubelet")
	require.NoError(t, killOrphans(t.Context(), os.Getpid()+1, orphan.Args[0]))
	assert.True(t, orphan.alive(), "the child of another process")
	require.NoError(t, killOrphans(t.Context(), os.Getpid(), orphan.Args[0]))
	assert.False(t, orphan.alive())
	assert.True(t, other.alive(), "another program")
}

func TestLongLogIsSetAside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "etcd.log")
	for name, tc := range map[string]struct {
		size  int64
		aside bool
	}{"short": {longestLog - 1, false}, "long": {longestLog, true}} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Truncate(path, tc.size))
		file, err := openLog(path)
		require.NoError(t, err)
		_, err = file.WriteString("x")
		require.NoError(t, err)
		require.NoError(t, file.Close())
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, tc.aside, info.Size() == 1, name)
		_, err = os.Stat(path + ".old")
		assert.Equal(t, tc.aside, err == nil, name)
		_ = os.Remove(path + ".old")
	}
}

// The addresses in the table are those of a little-endian machine.
func TestRoutesHideNetworksOfTheirSize(t *testing.T) {
	t.Parallel()
	const table = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0100A8C0	0003	0	0	0	00000000	0	0	0
tun0	0000000A	00000000	0001	0	0	0	000000FF	0	0	0
tun0	0000420A	00000000	0001	0	0	0	0000FFFF	0	0	0
tun0	0007450A	00000000	0001	0	0	0	00FFFFFF	0	0	0
`
	routes := parseRoutes(table)
	var texts []string
	for _, route := range routes {
		texts = append(texts, route.String())
	}
	assert.Equal(t, []string{"10.66.0.0/16", "10.69.7.0/24"}, texts)
	var taken []int
	for index := range 4 {
		if (Network{Index: index}).overlaps(routes) {
			taken = append(taken, index)
		}
	}
	assert.Equal(t, []int{1, 2}, taken)
	assert.False(t, Network{Index: 0}.overlaps([]net.Addr{}))
}

// The clusters of two checkouts have the same folders in their checkouts, and different names.
func TestClustersOfTwoCheckoutsHaveDifferentNames(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, config := range []Config{
		MainConfig("/a"), MainConfig("/b"), OwnedConfig("/a", "integration"), OwnedConfig("/b", "integration"), OwnedConfig("/a", "external"),
	} {
		require.NoError(t, config.validate())
		names[config.Name] = true
	}
	assert.Len(t, names, 5)
}
