package protectionlog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var entry = Entry{Event: DeletionProtection, Kind: "Namespace", Name: "shop", UserAgent: "jane"}

func TestEntriesAreLinesOfTheFile(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // A restarted process appends to the same file.
		Open(t.Context(), dir).Write(t.Context(), entry)
	}
	path := filepath.Join(dir, "protection.log")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	line := `{"Event":"DeletionProtection","Kind":"Namespace","Namespace":"","Name":"shop","UserAgent":"jane"}` + "\n"
	assert.Equal(t, line+line, string(data))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode().Perm())
}

// If the log directory is not writable, the log goes to standard output.
// Case configuration 9.
func TestWithoutADirectoryTheLogGoesToStandardOutput(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = write
	t.Cleanup(func() { os.Stdout = stdout })
	for _, directory := range []string{filepath.Join(t.TempDir(), "missing"), StandardOutput} {
		Open(t.Context(), directory).Write(t.Context(), entry)
	}
	require.NoError(t, write.Close())
	buffer := make([]byte, 1024)
	n, err := read.Read(buffer)
	require.NoError(t, err)
	assert.Regexp(t, `^\{"Event":"DeletionProtection".*\}\n\{.*\}\n$`, string(buffer[:n]))
}
