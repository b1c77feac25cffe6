package handler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilexec "k8s.io/utils/exec"

	"kruise.io/kruise/pkg/nodeagent/cri"
)

// fakeRuntime answers one command.
type fakeRuntime func(ctx context.Context) (stdout, stderr []byte, err error)

func (f fakeRuntime) ExecSync(ctx context.Context, _ string, _ []string, _ time.Duration) (stdout, stderr []byte, err error) {
	return f(ctx)
}

// Cases podprobemarker 13, 21, 28.
func TestCommand(t *testing.T) {
	tests := map[string]struct {
		stdout, stderr string
		err            error
		want           Result
	}{
		"its output":        {"fine", "noise", nil, Result{Outcome: Succeeded, Output: "fine"}},
		"a long output":     {strings.Repeat("x", 5000), "", nil, Result{Outcome: Succeeded, Output: strings.Repeat("x", 1024)}},
		"no text":           {"a\xffb", "", nil, Result{Outcome: Succeeded, Output: "ab"}},
		"a character apart": {strings.Repeat("x", 1023) + "é", "", nil, Result{Outcome: Succeeded, Output: strings.Repeat("x", 1023)}},
		"it fails": {
			"", strings.Repeat("y", 5000), utilexec.CodeExitError{Err: errors.New("exit"), Code: 127},
			Result{Outcome: Failed, Reason: "the command ended with status 127", Output: strings.Repeat("y", 1024)},
		},
		"it takes too long": {
			"", "", cri.ErrTimedOut, Result{Outcome: Failed, Reason: "the command failed: timed out", Output: "the command failed: timed out"},
		},
		"it does not exist": {
			"", "", fmt.Errorf("%w: no such file", cri.ErrNotStarted),
			Result{Outcome: Failed, NotStarted: true, Reason: "the runtime could not start the command", Output: "not started: no such file"},
		},
		"the runtime fails": {
			"", "", errors.New("transport is closing"),
			Result{Outcome: Unknown, Reason: "the runtime did not run the command", Output: "transport is closing"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			runtime := fakeRuntime(func(context.Context) ([]byte, []byte, error) { return []byte(tc.stdout), []byte(tc.stderr), tc.err })
			got := Run(t.Context(), Target{Runtime: runtime, ID: "A"},
				&corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check"}}}, time.Second)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestCommandOfARuntimeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := fakeRuntime(func(ctx context.Context) ([]byte, []byte, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
		began := time.Now()
		got := Run(t.Context(), Target{Runtime: hangs}, &corev1.ProbeHandler{Exec: &corev1.ExecAction{}}, 3*time.Second)
		assert.Equal(t, Unknown, got.Outcome)
		assert.LessOrEqual(t, time.Since(began), 35*time.Second)
	})
}

// target returns a target whose port has the name web, and the port.
func target(t *testing.T, address string) (Target, int) {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	return Target{IP: host, Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: int32(port)}}, UserAgent: "kube-probe"}, port
}

func httpGet(action corev1.HTTPGetAction) *corev1.ProbeHandler {
	return &corev1.ProbeHandler{HTTPGet: &action}
}

func TestRequest(t *testing.T) {
	var got *http.Request
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	defer server.Close()
	whom, port := target(t, server.Listener.Addr().String())
	for _, p := range []intstr.IntOrString{intstr.FromInt(port), intstr.FromString("web"), intstr.FromString(strconv.Itoa(port))} {
		got = nil
		result := Run(t.Context(), whom, httpGet(corev1.HTTPGetAction{Scheme: "HTTPS", Port: p, Path: "/a%2Fb?now", HTTPHeaders: []corev1.HTTPHeader{
			{Name: "host", Value: "h"}, {Name: "X", Value: "1"}, {Name: "X", Value: "2"},
		}}), time.Second)
		require.Equal(t, Result{Outcome: Succeeded}, result)
		assert.Equal(t, "/a%2Fb?now", got.RequestURI)
		assert.Equal(t, "h", got.Host)
		assert.Equal(t, []string{"1", "2"}, got.Header["X"])
		assert.Equal(t, []string{"kube-probe"}, got.Header["User-Agent"])
		assert.Equal(t, []string{"*/*"}, got.Header["Accept"])
	}
	Run(t.Context(), whom, httpGet(corev1.HTTPGetAction{Scheme: "HTTPS", Port: intstr.FromInt(port), HTTPHeaders: []corev1.HTTPHeader{
		{Name: "accept", Value: ""}, {Name: "User-Agent", Value: "mine"},
	}}), time.Second)
	assert.Empty(t, got.Header["Accept"])
	assert.Equal(t, []string{"mine"}, got.Header["User-Agent"])

	result := Run(t.Context(), whom, httpGet(corev1.HTTPGetAction{Port: intstr.FromString("other")}), time.Second)
	assert.Equal(t, Failed, result.Outcome)
	assert.Equal(t, `the container has no port named "other"`, result.Reason)
	whom.IP = ""
	assert.Equal(t, Unknown, Run(t.Context(), whom, httpGet(corev1.HTTPGetAction{Port: intstr.FromInt(port)}), time.Second).Outcome)
}

// Case podprobemarker 17.
func TestResponse(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	away, err := url.Parse(other.URL)
	require.NoError(t, err)
	away.Host = net.JoinHostPort("localhost", away.Port())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			_, _ = w.Write([]byte("fine"))
		case "/long":
			_, _ = w.Write([]byte(strings.Repeat("x", 1<<20)))
		case "/here":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/away":
			w.Header().Set("Location", away.String())
			w.WriteHeader(http.StatusFound)
			_, _ = w.Write([]byte("over there"))
		case "/headers":
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		case "/slow":
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte("the password is 1234"))
		}
	}))
	defer server.Close()
	whom, port := target(t, server.Listener.Addr().String())
	tests := map[string]struct {
		path    string
		outcome Outcome
		output  string
	}{
		"success":                           {"/ok", Succeeded, "fine"},
		"a long body":                       {"/long", Succeeded, strings.Repeat("x", 1024)},
		"a redirect to the same host":       {"/here", Succeeded, "fine"},
		"a redirect that never ends":        {"/loop", Failed, "stopped after 10 redirects"},
		"a redirect to another host":        {"/away", Succeeded, "Probe terminated redirects, Response body: over there"},
		"not found":                         {"/other", Failed, "404"},
		"headers without an end":            {"/headers", Failed, "exceeded"},
		"no answer":                         {"/slow", Failed, "deadline exceeded"},
		"a path that looks like an address": {"http://localhost/ok", Succeeded, "fine"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Run(t.Context(), whom, httpGet(corev1.HTTPGetAction{Port: intstr.FromInt(port), Path: tc.path}), 300*time.Millisecond)
			assert.Equal(t, tc.outcome, got.Outcome)
			assert.Contains(t, got.Output, tc.output)
			assert.LessOrEqual(t, len(got.Output), MaxOutput)
			assert.NotContains(t, got.Output+got.Reason, "1234", "a refused body is not shown")
			assert.Equal(t, tc.outcome == Succeeded, got.Reason == "")
		})
	}
	assert.Zero(t, elsewhere, "no other host is asked")
}

// The kubelet runs hooks and probes by different rules.
func TestHookNeedsAnyAnswer(t *testing.T) {
	var asked []http.Header
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header)
		if r.URL.Path == "/none" {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer plain.Close()
	whom, port := target(t, plain.Listener.Addr().String())
	headers := []corev1.HTTPHeader{{Name: "Authorization", Value: "secret"}, {Name: "X", Value: "1"}}
	tests := map[string]struct {
		hook    bool
		action  corev1.HTTPGetAction
		outcome Outcome
		asked   []string
	}{
		"a hook":                          {true, corev1.HTTPGetAction{}, Succeeded, []string{"secret"}},
		"a hook by TLS":                   {true, corev1.HTTPGetAction{Scheme: "HTTPS"}, Succeeded, []string{""}},
		"a hook that gets no answer":      {true, corev1.HTTPGetAction{Path: "/none"}, Failed, []string{"secret"}},
		"a hook by TLS without an answer": {true, corev1.HTTPGetAction{Scheme: "HTTPS", Path: "/none"}, Failed, []string{""}},
		"a probe":                         {false, corev1.HTTPGetAction{}, Failed, []string{"secret"}},
		"a probe by TLS":                  {false, corev1.HTTPGetAction{Scheme: "HTTPS"}, Failed, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			asked, whom.Hook = nil, tc.hook
			tc.action.Port, tc.action.HTTPHeaders = intstr.FromInt(port), headers
			got := Run(t.Context(), whom, httpGet(tc.action), time.Second)
			assert.Equal(t, tc.outcome, got.Outcome, got)
			var credentials []string
			for _, header := range asked {
				credentials = append(credentials, header.Get("Authorization"))
				assert.Equal(t, "1", header.Get("X"))
			}
			assert.Equal(t, tc.asked, credentials, "credentials are not sent without the TLS that they were meant for")
		})
	}
}

func TestConnection(t *testing.T) {
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	whom, port := target(t, listener.Addr().String())
	probe := &corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}}
	assert.Equal(t, Result{Outcome: Succeeded}, Run(t.Context(), whom, probe, time.Second))
	require.NoError(t, listener.Close())
	got := Run(t.Context(), whom, probe, time.Second)
	assert.Equal(t, Failed, got.Outcome)
	assert.Contains(t, got.Output, "refused")

	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, Unknown, Run(stopped, whom, probe, time.Second).Outcome, "an agent that stops is no failure of the Pod")
	assert.Equal(t, Unknown, Run(t.Context(), whom, &corev1.ProbeHandler{}, time.Second).Outcome)
}
