package images

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVersionVariables checks which commits lead to new programs.
func TestVersionVariables(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	git := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	write := func(file, content string) {
		path := filepath.Join(root, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	stamp := func() map[string]string {
		variables, err := Builder{ModuleRoot: root}.versionVariables(t.Context())
		require.NoError(t, err)
		return variables
	}
	git("init", "--quiet")
	_, err := Builder{ModuleRoot: root}.versionVariables(t.Context())
	require.ErrorContains(t, err, "find the last commit")
	for _, file := range []string{"go.mod", "go.sum", "cmd/a/main.go", "pkg/a/a.go", "pkg/a/a_test.go", "docs/a.md", "hack/a.go"} {
		write(file, "one")
	}
	git("add", "--all")
	git("commit", "--quiet", "--message=all")
	last := stamp()
	assert.Equal(t, "clean", last["k8s.io/component-base/version.gitTreeState"])

	release, err := Builder{ModuleRoot: root, Version: "v1.2.3"}.versionVariables(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "v1.2.3", release["k8s.io/component-base/version.gitVersion"])

	for file, programs := range map[string]bool{
		"docs/a.md": false, "hack/a.go": false, "pkg/a/a_test.go": false, "pkg/a/a.go": true, "cmd/a/main.go": true, "go.sum": true,
	} {
		write(file, "two")
		if programs {
			assert.Equal(t, "dirty", stamp()["k8s.io/component-base/version.gitTreeState"], file)
		} else {
			assert.Equal(t, last, stamp(), file)
		}
		git("commit", "--quiet", "--all", "--message="+file)
		if programs {
			assert.NotEqual(t, last, stamp(), file)
		} else {
			assert.Equal(t, last, stamp(), file)
		}
		last = stamp()
	}
}
