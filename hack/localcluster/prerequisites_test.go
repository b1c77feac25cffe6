package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// machine sets PATH to a folder with all host tools except the missing ones, and with what the fake apt-get needs.
func machine(t *testing.T, missing ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	shell, err := os.Readlink("/proc/self/exe")
	require.NoError(t, err)
	for _, tool := range hostTools() {
		if filepath.IsAbs(tool.path) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, tool.path)); err != nil {
			require.NoError(t, os.Symlink(shell, filepath.Join(dir, tool.path)))
		}
	}
	require.NoError(t, os.Symlink("/bin/sh", filepath.Join(dir, "sh")))
	require.NoError(t, os.Symlink("/bin/touch", filepath.Join(dir, "touch")))
	require.NoError(t, os.Symlink("/bin/chmod", filepath.Join(dir, "chmod")))
	for _, name := range missing {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
	t.Setenv("PATH", dir)
	return dir
}

func installer(t *testing.T) *Cluster {
	t.Helper()
	cluster, err := New(Config{Name: "a", Dir: t.TempDir(), ModuleRoot: "/somewhere"})
	require.NoError(t, err)
	return cluster
}

// TestInstallPackages uses a fake apt-get that finds packages only after an update, as on a new machine. Another program has the lists at
// first. The fake records its arguments.
func TestInstallPackages(t *testing.T) {
	dir := machine(t, "ctr", "docker-registry")
	script := fmt.Sprintf(`#!/bin/sh
cd %[1]s
echo "$DEBIAN_FRONTEND $*" >> calls
case "$1" in
update) [ -e tried ] || { touch tried; echo "E: Could not get lock /var/lib/apt/lists/lock"; exit 100; }; touch lists ;;
install) [ -e lists ] && touch ctr docker-registry && chmod +x ctr docker-registry ;;
esac
`, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "apt-get"), []byte(script), 0o700))
	missing := missingPackages(hostTools()[:2], present)
	require.Equal(t, []string{"containerd"}, missing)

	require.NoError(t, installer(t).installPackages(t.Context(), []string{"containerd", "docker-registry"}))
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	require.NoError(t, err)
	assert.Equal(t, []string{
		"noninteractive update",
		"noninteractive update",
		"noninteractive install -y --no-install-recommends containerd docker-registry",
	}, strings.Split(strings.TrimSpace(string(calls)), "\n"))
}

func TestInstallPackagesFails(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"no apt-get": {"", "the local cluster needs the programs of the Debian packages runc, " +
			"and there is no apt-get to install them; " + alternative},
		"no network":             {"echo Could not resolve; exit 100", "Could not resolve; " + alternative},
		"a package without runc": {"exit 0", "installed the Debian packages runc, but programs of runc are not on PATH; " + alternative},
	} {
		t.Run(name, func(t *testing.T) {
			dir := machine(t, "runc")
			if test.script != "" {
				script := []byte("#!/bin/sh\n" + test.script + "\n")
				require.NoError(t, os.WriteFile(filepath.Join(dir, "apt-get"), script, 0o700))
			}
			err := installer(t).installPackages(t.Context(), []string{"runc"})
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestProgramsOfTheMachineAreNotTheBuiltOnes(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "/usr/bin:/usr/sbin:/sbin", hostPath("/work/.local/bin:/usr/bin:/work/.local/bin/", "/work/.local/bin"))
	assert.Equal(t, "/sbin:/usr/bin:/usr/sbin", hostPath("/sbin:/usr/bin", "/work/.local/bin"))
}
