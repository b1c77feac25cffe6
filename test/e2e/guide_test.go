//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// guide is a page of the user guide.
type guide struct {
	e   *env
	dir string
	// environment has the programs on the PATH, and the namespace of the test as the default.
	environment []string
}

func (e *env) guide() *guide {
	e.t.Helper()
	program, err := buildPlugin()
	require.NoError(e.t, err, "build the plugin")
	kubectl, err := filepath.Abs(os.Getenv("KUBECTL"))
	require.NoError(e.t, err)
	config, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	require.NoError(e.t, err)
	path := filepath.Join(e.t.TempDir(), "kubeconfig")
	require.NoError(e.t, os.WriteFile(path, config, 0o600))
	search := strings.Join([]string{filepath.Dir(program), filepath.Dir(kubectl), os.Getenv("PATH")}, string(filepath.ListSeparator))
	g := &guide{e: e, dir: filepath.Join("..", ".."), environment: append(os.Environ(), "KUBECONFIG="+path, "PATH="+search)}
	out, err := g.run(e.t.Context(), "kubectl config set-context --current --namespace="+e.namespace)
	require.NoError(e.t, err, out)
	return g
}

// run runs a command as a user does, from the root of the checkout.
func (g *guide) run(ctx context.Context, command string) (string, error) {
	shell := exec.CommandContext(ctx, "bash", "-c", command)
	shell.Dir, shell.Env = g.dir, g.environment
	out, err := shell.CombinedOutput()
	return string(out), err
}

// commandsOf returns the commands in the blocks of a page. They begin with a dollar sign.
func commandsOf(page string) (commands []string) {
	inside := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case inside && strings.HasPrefix(line, "$ "):
			commands = append(commands, strings.TrimPrefix(line, "$ "))
		}
	}
	return commands
}

// TestUserGuide runs every command of the user guide, page by page, in the order of the page.
func TestUserGuide(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/user/*.md")
	require.NoError(t, err)
	require.Greater(t, len(pages), 15)
	for _, path := range pages {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		commands := commandsOf(string(text))
		if len(commands) == 0 {
			assert.Contains(t, []string{"README.md", "coming-from-openkruise.md"}, filepath.Base(path), "a page without commands")
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".md"), func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			g := e.guide()
			for _, command := range commands {
				command = strings.ReplaceAll(command, "-n default", "-n "+e.namespace)
				if applied, found := strings.CutPrefix(command, "kubectl apply -f "); found {
					t.Cleanup(func() {
						out, err := g.run(context.WithoutCancel(t.Context()), "kubectl delete --ignore-not-found --wait=false -f "+applied)
						assert.NoError(t, err, out)
					})
				}
				out, err := g.run(t.Context(), command)
				require.NoError(t, err, "%s\n%s", command, out)
			}
		})
	}
}
