package exposed

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var row = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| (?:`([a-z_, ]+)`|–) \\|")

// The page of the metrics says for every metric of ours what it is, and names none that does not exist.
func TestOwnMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	documented := map[string]bool{}
	for _, match := range row.FindAllStringSubmatch(string(page), -1) {
		documented[strings.TrimSpace(match[1]+" "+match[2]+" "+strings.ReplaceAll(match[3], " ", ""))] = true
	}
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.Len(t, files, 3)
	exposed := map[string]bool{}
	for _, file := range files {
		list, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(list)) {
			exposed[strings.TrimSpace(line)] = true
			if strings.HasPrefix(line, "kruise_") {
				assert.True(t, documented[strings.TrimSpace(line)], line)
			}
		}
	}
	for metric := range documented {
		assert.True(t, exposed[metric], metric)
	}
}
