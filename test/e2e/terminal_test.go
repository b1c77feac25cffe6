//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/kubectl/kubectltest/golden"
)

// terminal is a program on a terminal of 80 columns, which tmux draws.
type terminal struct {
	e      *env
	socket string
	// screens are those that were seen, for the output of a failed test.
	screens []string
}

// terminal starts the plugin on a terminal. It must be installed as the cluster is prepared.
func (e *env) terminal(args ...string) *terminal {
	e.t.Helper()
	program, err := buildPlugin()
	require.NoError(e.t, err, "build the plugin")
	dir, err := os.MkdirTemp("", "tmux") // A socket path has at most 107 bytes, so it is not below t.TempDir().
	require.NoError(e.t, err)
	t := &terminal{e: e, socket: filepath.Join(dir, "s")}
	command := strings.Join(append([]string{program}, append(args, "--namespace", e.namespace)...), " ")
	t.tmux("-f", os.DevNull, "new-session", "-d", "-x", "80", "-y", "30", "KUBECONFIG="+os.Getenv("KUBECONFIG")+" TERM=screen "+command)
	e.t.Cleanup(func() {
		_ = exec.CommandContext(context.WithoutCancel(e.t.Context()), "tmux", "-S", t.socket, "kill-server").Run()
		assert.NoError(e.t, os.RemoveAll(dir))
		if e.t.Failed() {
			e.t.Logf("the screens:\n%s", strings.Join(t.screens, "\n"+strings.Repeat("=", 80)+"\n"))
		}
	})
	return t
}

func (t *terminal) tmux(args ...string) string {
	t.e.t.Helper()
	out, err := exec.CommandContext(t.e.t.Context(), "tmux", append([]string{"-S", t.socket}, args...)...).CombinedOutput()
	require.NoError(t.e.t, err, "tmux %s: %s", strings.Join(args, " "), out)
	return string(out)
}

// screen returns what is on the screen.
func (t *terminal) screen() string {
	t.e.t.Helper()
	screen := t.tmux("capture-pane", "-p")
	if len(t.screens) == 0 || t.screens[len(t.screens)-1] != screen {
		t.screens = append(t.screens, screen)
	}
	return screen
}

// shows waits until all texts are on the screen. Texts may be broken into lines.
func (t *terminal) shows(texts ...string) {
	t.e.t.Helper()
	t.e.eventually("the screen shows "+strings.Join(texts, ", "), func(c *require.Assertions, _ context.Context) {
		screen := strings.Join(strings.Fields(t.screen()), " ")
		for _, text := range texts {
			c.Contains(screen, text)
		}
	})
}

// keeps waits until the whole screen is the one in a file in testdata/plugin, apart from names. With the variable UPDATE_GOLDEN, it writes
// the file when the screen has not changed for five seconds.
func (t *terminal) keeps(name string) {
	t.e.t.Helper()
	screen := func() string { return strings.TrimRight(normal(t.screen()), "\n") + "\n" }
	path := filepath.Join("plugin", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		last, since := screen(), time.Now()
		for time.Since(since) < 5*time.Second {
			<-time.After(250 * time.Millisecond)
			if now := screen(); now != last {
				last, since = now, time.Now()
			}
		}
		golden.Compare(t.e.t, path, last)
		return
	}
	want, err := os.ReadFile(filepath.Join("testdata", path))
	require.NoError(t.e.t, err)
	t.e.eventually("the screen is that of "+path, func(c *require.Assertions, _ context.Context) { c.Equal(string(want), screen()) })
}

// ends waits until the program has ended and its terminal is closed.
func (t *terminal) ends() {
	t.e.t.Helper()
	t.e.eventually("the program ends", func(c *require.Assertions, ctx context.Context) {
		c.Error(exec.CommandContext(ctx, "tmux", "-S", t.socket, "has-session").Run())
	})
}

// Case kubectl-plugin 32a: a rollout that a hook, a budget and an image hold, one after the other, on a real terminal.
func TestLiveViewOnATerminal(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.quickRestarts()
	e.apply(manifest("web", "spec:\n  replicas: 3", `spec:
  lifecycle:
    inPlaceUpdate: {labelsHandler: {update-hook: "on"}}
  replicas: 1`, "labels:\n        app: NAME", "labels:\n        app: web\n        update-hook: \"on\""), "--server-side")
	e.ready("web", 1)
	first := e.terminal("rollout", "watch", "clone/web")
	first.shows("CloneSet "+e.namespace+"/web", "1 of 1", "p pause r resume u undo q quit")

	e.image("web", "kruise.local/demo:v2")
	first.shows("PreparingUpdate", "0 of 1", "hook")
	first.keeps("live-hook.txt")
	first.tmux("send-keys", "p")
	first.shows("paused")
	first.tmux("send-keys", "r")
	first.shows("resumed")
	e.answerUpdates("web", 1)
	first.shows("updated [########################################] 1 of 1", "partitioned roll out complete")

	e.kubectl("patch", "clonesets.v1beta1.apps.kruise.io", "web", "--type=json", "--patch",
		`[{"op":"remove","path":"/spec/lifecycle"}]`)
	e.ready("web", 1)
	e.image("web", "kruise.local/demo:none")
	first.shows("kruise.local/demo:none", "ImagePullBackOff")
	first.keeps("live-image.txt")
	first.tmux("send-keys", "u")
	first.shows("rolled back to revision", "updated [########################################] 1 of 1", "partitioned roll out complete")

	e.apply(`apiVersion: policy.kruise.io/v1beta1
kind: PodUnavailableBudget
metadata: {name: web}
spec:
  minAvailable: 1
  targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web}
`)
	e.eventually("the budget is counted", func(c *require.Assertions, _ context.Context) {
		c.Equal("1", e.kubectl("get", "pub", "web", "-o", "jsonpath={.status.currentAvailable}"))
	})
	e.kubectl("patch", "clonesets.v1beta1.apps.kruise.io", "web", "--type=merge", "--patch",
		`{"spec":{"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"ReCreate"}},"template":{"metadata":{"labels":{"generation":"next"}}}}}`)
	first.shows("0 of 1", "PodUnavailableBudget web")
	first.keeps("live-budget.txt")
	e.kubectl("delete", "pub", "web")
	first.shows("updated [########################################] 1 of 1")
	e.ready("web", 1)
	first.keeps("live-complete.txt")
	first.tmux("send-keys", "q")
	first.ends()
}
