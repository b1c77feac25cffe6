package localcluster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no name":                        {func(c *Config) { c.Name = "" }, `name "": use 1 to 32 lower case letters, digits and dashes`},
		"a path for a name":              {func(c *Config) { c.Name = "../x" }, `name "../x"`},
		"a relative folder":              {func(c *Config) { c.Dir = "state" }, `dir "state": use an absolute path`},
		"no checkout":                    {func(c *Config) { c.ModuleRoot = "" }, `moduleRoot "": use an absolute path`},
		"a masked folder":                {func(c *Config) { c.Dir = "/run/x" }, `dir "/run/x": nodes have their own /run`},
		"too many nodes":                 {func(c *Config) { c.Nodes = 101 }, "nodes 101: use 0 to 100"},
		"fewer than no node":             {func(c *Config) { c.Nodes = -1 }, "nodes -1: use 0 to 100"},
		"a range of versions":            {func(c *Config) { c.KubernetesVersion = "1.34" }, `kubernetesVersion "1.34": use a complete version`},
		"an old version":                 {func(c *Config) { c.KubernetesVersion = "1.29.9" }, `kubernetesVersion "1.29.9": use 1.30 or later`},
		"a containerd that is not built": {func(c *Config) { c.Containerd = "1.7" }, `containerd "1.7": use 2, or leave it empty`},
		"no simulated node":              {func(c *Config) { c.KWOKNodes = -1 }, "kwokNodes -1: use 0 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := Config{Name: "a", Dir: "/somewhere/a", ModuleRoot: "/somewhere", Nodes: 1}
			_, err := New(config)
			require.NoError(t, err)
			test.change(&config)
			_, err = New(config)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestMainConfigOfTwoCheckouts(t *testing.T) {
	t.Parallel()
	one, two := MainConfig("/src/one"), MainConfig("/src/two")
	assert.NotEqual(t, one.Name, two.Name, "their control groups would be the same")
	for _, config := range []Config{one, two} {
		_, err := New(config)
		require.NoError(t, err)
	}
}

func TestMachineAllowsTheWatchesOfManyClusters(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "max_user_instances")
	for before, after := range map[string]string{"128\n": "1024", "1024\n": "1024\n", "8192\n": "8192\n"} {
		require.NoError(t, os.WriteFile(file, []byte(before), 0o600))
		require.NoError(t, allowWatches(file))
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, after, string(data))
	}
	require.NoError(t, os.WriteFile(file, []byte("many"), 0o600))
	require.ErrorContains(t, allowWatches(file), `parsing "many"`)
}

func TestCheckMachine(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkMachine("linux", 0))
	require.EqualError(t, checkMachine("linux", 1000), "the local cluster needs root, this is user 1000; "+alternative)
	require.EqualError(t, checkMachine("darwin", 0), "the local cluster needs Linux, this is darwin; "+alternative)
	require.NoError(t, checkDisk("/state", 1<<30))
	require.EqualError(t, checkDisk("/state", 1<<30-1), "the disk of /state has 1023 MiB free and the local cluster needs 1024 MiB; "+
		"delete files on it, for example with: go clean -cache")
	free, err := freeDisk(t.TempDir())
	require.NoError(t, err)
	require.Positive(t, free)
}

func TestMissingPackages(t *testing.T) {
	t.Parallel()
	list := []hostTool{{"containerd", "containerd"}, {"ctr", "containerd"}, {"runc", "runc"}, {"ip", "iproute2"}}
	has := func(paths ...string) func(string) bool {
		return func(path string) bool {
			return slices.Contains(paths, path)
		}
	}
	assert.Equal(t, []string{"containerd", "iproute2"}, missingPackages(list, has("runc")))
	assert.Empty(t, missingPackages(list, has("runc", "ip", "containerd", "ctr")))
}
