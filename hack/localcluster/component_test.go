package localcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLastLinesOfALog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	assert.Empty(t, lastLines(file), "no log")
	for content, want := range map[string]string{
		"":                                  "",
		"first\nlast\n":                     "first\nlast",
		strings.Repeat("line\n", 100):       strings.TrimSpace(strings.Repeat("line\n", 10)),
		strings.Repeat("a", 5000) + "\nend": strings.Repeat("a", 4092) + "\nend",
	} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		assert.Equal(t, want, lastLines(file))
	}
}
