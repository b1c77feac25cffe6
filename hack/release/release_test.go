package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVersionComesFromTagOrCommit tags a checkout and then changes it.
func TestVersionComesFromTagOrCommit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	git := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	version := func(wanted string) string {
		version, err := versionOf(t.Context(), root, wanted)
		require.NoError(t, err)
		return version
	}
	git("init", "--quiet")
	require.NoError(t, os.WriteFile(filepath.Join(root, "a"), []byte("one"), 0o600))
	git("add", "--all")
	git("commit", "--quiet", "--message=a")
	assert.Regexp(t, `^v0\.0\.0-dev\+[0-9a-f]{12}$`, version(""))
	git("tag", "v1.2.3-rc.1")
	assert.Equal(t, "v1.2.3-rc.1", version(""))
	assert.Equal(t, "v2.0.0", version("v2.0.0"), "asked for")
	require.NoError(t, os.WriteFile(filepath.Join(root, "a"), []byte("two"), 0o600))
	assert.Regexp(t, `^v0\.0\.0-dev\+[0-9a-f]{12}\.dirty$`, version(""), "not what the tag names")

	_, err := versionOf(t.Context(), root, "1.2")
	require.EqualError(t, err, `VERSION "1.2": use the form v1.2.3 or v1.2.3-rc.1`)
	assert.Equal(t, "v0.0.0-dev-abc", imageTag("v0.0.0-dev+abc"))
}

// TestDependenciesListLinkedModules checks a replaced module and the standard library.
func TestDependenciesListLinkedModules(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{GoVersion: "go1.26.1", Deps: []*debug.Module{
		{Path: "example.com/a", Version: "v1.0.0"},
		{Path: "example.com/b", Version: "v0.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0"}},
	}}
	var names []string
	for _, c := range dependencies(info, "apiserver", "v1.0.0").Components {
		names = append(names, c.PURL)
	}
	assert.Equal(t, []string{
		"pkg:golang/stdlib@1.26.1", "pkg:golang/example.com/a@v1.0.0", "pkg:golang/example.com/c@v2.0.0",
	}, names)
}

func TestSumsAreThoseOfSha256sum(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("one"), 0o600))
	require.NoError(t, sums(dir))
	check := func() error {
		cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
		cmd.Dir = dir
		return cmd.Run()
	}
	require.NoError(t, check())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("two"), 0o600))
	require.Error(t, check())
}
