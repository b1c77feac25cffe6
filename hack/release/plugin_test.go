package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// krew downloads the archive of the platform, compares its sum, and runs the program in it.
func TestKrewFindsTheProgramOfEachPlatform(t *testing.T) {
	dir, program := t.TempDir(), filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, []byte("program"), 0o600))
	for _, archive := range []string{"linux-amd64", "darwin-arm64", "windows-amd64"} {
		system := map[string]string{"linux-amd64": "linux", "darwin-arm64": "darwin", "windows-amd64": "windows"}[archive]
		require.NoError(t, pack(filepath.Join(dir, "kubectl-kruise-"+archive+".tar.gz"), map[string]string{executable(system): program, "LICENSE": program}))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubectl-kruise-linux-amd64"), nil, 0o600))
	require.NoError(t, krew(dir, "v1.2.3", "https://example.com/v1.2.3/"))

	text, err := os.ReadFile(filepath.Join(dir, "kruise.krew.yaml"))
	require.NoError(t, err)
	var plugin struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, Homepage, ShortDescription, Description string

			Platforms []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
			}
		}
	}
	require.NoError(t, yaml.UnmarshalStrict(text, &plugin, yaml.DisallowUnknownFields), string(text))
	assert.Equal(t, "kruise", plugin.Metadata.Name)
	assert.Equal(t, "v1.2.3", plugin.Spec.Version)
	require.Len(t, plugin.Spec.Platforms, 3)
	for _, platform := range plugin.Spec.Platforms {
		labels := platform.Selector.MatchLabels
		name := "kubectl-kruise-" + labels["os"] + "-" + labels["arch"] + ".tar.gz"
		assert.Equal(t, "https://example.com/v1.2.3/"+name, platform.URI)
		sum, err := sumOf(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, sum, platform.SHA256)
		assert.Equal(t, []string{"LICENSE", platform.Bin}, contents(t, filepath.Join(dir, name)))
	}
}

// contents returns the names of the files in an archive.
func contents(t *testing.T, path string) (names []string) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { assert.NoError(t, file.Close()) }()
	zipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		require.NoError(t, err)
		assert.EqualValues(t, 0o755, header.Mode)
		names = append(names, header.Name)
	}
}

// Without the address of the files, a manifest would be of no use.
func TestNoManifestWithoutAnAddress(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, krew(dir, "v1.2.3", ""))
	assert.NoFileExists(t, filepath.Join(dir, "kruise.krew.yaml"))
}
