//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/kubectl/kubectltest/golden"
)

// session is what a user sees who types commands of the plugin: each command, what it prints, and its exit code if it fails.
type session struct {
	*guide
	text strings.Builder
}

func (e *env) session() *session {
	e.t.Helper()
	return &session{guide: e.guide()}
}

// types runs the lines of a text as arguments of "kubectl kruise". POD and NAMESPACE stand for the first Pod of the app web and for the
// namespace of the test. The plugin is called directly, which takes half the time of a call by kubectl.
func (s *session) types(lines string) {
	s.e.t.Helper()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		arguments := strings.ReplaceAll(strings.TrimSpace(line), "NAMESPACE", s.e.namespace)
		if strings.Contains(arguments, "POD") {
			pods := s.e.pods("web")
			require.NotEmpty(s.e.t, pods)
			arguments = strings.ReplaceAll(arguments, "POD", pods[0].Name)
		}
		out, err := s.run(s.e.t.Context(), "kubectl-kruise "+arguments)
		if out != "" && !strings.HasSuffix(out, "\n") {
			out += "\n"
		}
		fmt.Fprintf(&s.text, "$ kubectl kruise %s\n%s", arguments, out)
		if err == nil {
			continue
		}
		ended := &exec.ExitError{}
		require.True(s.e.t, errors.As(err, &ended), "%s: %v", arguments, err)
		fmt.Fprintf(&s.text, "exit code %d\n", ended.ExitCode())
	}
}

// shows compares the session with a file in testdata/plugin.
func (s *session) shows(name string) {
	s.e.t.Helper()
	golden.Compare(s.e.t, filepath.Join("plugin", name), normal(s.text.String()))
}

// varying are the parts of an output that differ between runs or clusters, and what stands for them. Names keep their width, so that
// columns stay where they are.
var varying = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`\be2e-[a-z0-9]{5}\b`), "e2e-#####"},
	{regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b`), "-HASH"},
	{regexp.MustCompile(`\b([a-z]+)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "$1-#####"},
	{regexp.MustCompile(`\bnode-\d\b`), "node-N"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`\d+\.\d+\.\d+\.\d+:\d+`), "ADDRESS"},
	{regexp.MustCompile(`(?m)(  )(\d+[smh])+$`), "${1}AGE"},
	{regexp.MustCompile(`(HASH +)(\d+[smh])+ +`), "${1}AGE  "},
	{regexp.MustCompile(`available in (\d+[smh])+`), "available in TIME"},
	{regexp.MustCompile(`has ended \d+ times`), "has ended N times"},
	{regexp.MustCompile(`0/\d+ nodes are available: .*?; change`), "0/N nodes are available; change"},
	{regexp.MustCompile(`(ErrImagePull|ImagePullBackOff): .*?; correct`), "ErrImagePull or ImagePullBackOff; correct"},
}

// normal returns an output without the parts that vary.
func normal(out string) string {
	for _, v := range varying {
		out = v.pattern.ReplaceAllString(out, v.text)
	}
	return out
}
