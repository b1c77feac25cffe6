//go:build e2e

package localcluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMountPoints needs root to set the marks.
func TestMountPoints(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dirs := []string{filepath.Join(root, "empty"), filepath.Join(root, "filled"), filepath.Join(root, "older")}
	require.NoError(t, makeMountPoints(dirs[:2]))
	require.NoError(t, writeFile(filepath.Join(dirs[1], "file"), nil, 0o600))
	require.NoError(t, os.Mkdir(dirs[2], 0o700))
	require.NoError(t, makeMountPoints(dirs))

	require.NoError(t, removeMountPoints(dirs, func() (bool, error) { return true, nil }))
	assert.DirExists(t, dirs[0], "another cluster uses it")
	require.NoError(t, removeMountPoints(dirs, func() (bool, error) { return false, nil }))
	assert.NoDirExists(t, dirs[0])
	assert.DirExists(t, dirs[1], "it is not empty")
	assert.DirExists(t, dirs[2], "another process created it")
}
