package kubectl_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/kubectl/kubectltest"
)

// Case kubectl-plugin 39.
func TestPagesOfAllCommands(t *testing.T) {
	dir := t.TempDir()
	out := run(t, kubectltest.New(t), "generate-docs", "--directory="+dir)
	pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
	require.NoError(t, err)
	assert.Greater(t, len(pages), 40)
	assert.Regexp(t, `^\d+ pages are in `+regexp.QuoteMeta(dir)+"\n$", out)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(text)
	}
	approve := read("kubectl_kruise_rollout_approve.md")
	for _, want := range []string{
		"# kubectl kruise rollout approve\n", "## Usage\n", "## Examples\n", "kubectl kruise rollout approve rollout/web", "## Flags\n", "--filename",
		"See also [kubectl kruise rollout](kubectl_kruise_rollout.md).",
	} {
		assert.Contains(t, approve, want)
	}
	for _, path := range pages {
		for _, link := range regexp.MustCompile(`\]\(([^)]+\.md)\)`).FindAllStringSubmatch(read(filepath.Base(path)), -1) {
			if strings.HasPrefix(link[1], "kubectl") {
				assert.FileExists(t, filepath.Join(dir, link[1]), path)
			}
		}
	}
	assert.Contains(t, fails(t, kubectltest.New(t), "generate-docs", "--directory=/dev/null/x"), "not a directory")
}
