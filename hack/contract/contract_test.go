package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const checkout = "../.."

// TestPagesNameTheTestsOfTheirCases checks that docs/contract matches the comments of the tests.
func TestPagesNameTheTestsOfTheirCases(t *testing.T) {
	t.Parallel()
	tests, problems, err := readTests(checkout)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(checkout, pages, "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		filled, found := fill(string(content), pageOf(file), tests)
		problems = append(problems, found...)
		assert.Equal(t, filled, string(content), "%s is out of date: run go run ./hack/contract", file)
	}
	assert.NoError(t, errors.Join(append(problems, unknown(checkout, files, tests)...)...))
}

// TestDocumentsNameTestsThatExist checks the test names in all documents.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	defined := map[string]bool{}
	read(t, "_test.go", regexp.MustCompile(`(?m)^func (Test\w+)\(`), func(_, name string) { defined[name] = true }, tops...)
	read(t, ".md", regexp.MustCompile("`(Test[A-Z]\\w+)`"), func(file, name string) {
		assert.True(t, defined[name], "%s names test %s, which does not exist", file, name)
	}, "docs", "README.md", "CONTRIBUTING.md")
}

// read calls found for each match in the files below tops whose names end with suffix.
func read(t *testing.T, suffix string, form *regexp.Regexp, found func(file, match string), tops ...string) {
	t.Helper()
	for _, top := range tops {
		require.NoError(t, filepath.WalkDir(filepath.Join(checkout, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, suffix) {
				return err
			}
			content, err := os.ReadFile(path)
			for _, match := range form.FindAllStringSubmatch(string(content), -1) {
				found(path, match[1])
			}
			return err
		}))
	}
}

const page = `# Web

| Case | What happens | Tests |
| --- | --- | --- |
| 1 | it starts | no test yet |
| 1a | it starts twice | ` + "`pkg/web`" + ` TestGone |
`

// newCheckout creates a checkout with one page, one kind without a page, and one file of tests.
func newCheckout(t *testing.T, tests string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"docs/contract/web.md": page, "pkg/apis/apps/types_other.go": "package apps\n", "pkg/web/web_test.go": "package web\n" + tests,
		"artifacts/doc.go": "package artifacts\n", "cmd/doc.go": "package cmd\n", "hack/doc.go": "package hack\n", "test/doc.go": "package test\n",
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return root
}

func TestColumnIsFilledFromComments(t *testing.T) {
	t.Parallel()
	root := newCheckout(t, `
// TestStart starts it.
// Cases web 1, 1a: the two ways.
func TestStart(t *testing.T) {}

func TestAgain(t *testing.T) {
	// Case web 1.
	// Case other 7: its page is not written yet.
}
`)
	require.NoError(t, run(root))
	content, err := os.ReadFile(filepath.Join(root, pages, "web.md"))
	require.NoError(t, err)
	assert.Contains(t, string(content), "| 1 | it starts | `pkg/web` TestAgain, TestStart |\n")
	assert.Contains(t, string(content), "| 1a | it starts twice | `pkg/web` TestStart |\n")
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ tests, want string }{
		"a name by number":     {"func TestRow3Start(t *testing.T) {}", "TestRow3Start: name the test for what it shows"},
		"an unknown case":      {"// Case web 9.\nfunc TestStart(t *testing.T) {}", "TestStart names case web 9"},
		"an unknown page":      {"// Case wep 1.\nfunc TestStart(t *testing.T) {}", "TestStart names case wep 1"},
		"no end":               {"// Case web 1 and 1a\nfunc TestStart(t *testing.T) {}", "above or in a test"},
		"outside of any test":  {"// Case web 1.\nvar x = 1", "above or in a test"},
		"above what is beside": {"// Case web 1.\nfunc start(t *testing.T) {}", "above or in a test"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.ErrorContains(t, run(newCheckout(t, tc.tests)), tc.want)
		})
	}
}

func TestDuplicateCaseIsAnError(t *testing.T) {
	t.Parallel()
	_, problems := fill("| 1 | a | no test yet |\n| 1 | b | no test yet |", "web", nil)
	assert.ErrorContains(t, errors.Join(problems...), "docs/contract/web.md: case 1 is there twice")
}
