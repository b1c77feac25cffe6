//go:build unix

package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/hack/localcluster"
)

const runMain = "RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// An init process that belongs to a test ends with it, however the test ends.
func TestInitProcessEndsWithItsOwner(t *testing.T) {
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "hold", t.TempDir(), "init")
	cmd.Env = append(os.Environ(), runMain+"=true", localcluster.OwnedVariable+"=true")
	cmd.ExtraFiles = []*os.File{reader}
	require.NoError(t, cmd.Start())
	require.NoError(t, reader.Close())
	require.NoError(t, writer.Close())
	assert.NoError(t, cmd.Wait())
}
