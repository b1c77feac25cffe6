package checkout

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRoot(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	below := filepath.Join(root, "a", "b")
	require.NoError(t, os.MkdirAll(below, 0o755))
	t.Chdir(below)
	_, err = Root()
	require.ErrorContains(t, err, "no folder upwards holds a go.mod")
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), nil, 0o600))
	got, err := Root()
	require.NoError(t, err)
	assert.Equal(t, root, got)
}
