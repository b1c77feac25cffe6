package cri_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"
	testingclock "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/nodeagent/cri"
	"kruise.io/kruise/pkg/nodeagent/cri/critest"
)

// runDir creates a folder whose path is short enough for a socket path.
func runDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "run") //nolint:usetesting // A socket's path has at most 107 bytes.
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// names returns a function for cri.NewChoice.
func names(version string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return version, nil }
}

type found struct{ Socket, Name string }

// Cases node-agent 2, 3, 4, 5, 6.
func TestDetect(t *testing.T) {
	containerd := func(socket string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { critest.Start(t, filepath.Join(dir, socket), "containerd", "2.1.0") }
	}
	crio := func(t *testing.T, dir string) {
		critest.Start(t, filepath.Join(dir, "crio/crio.sock"), "cri-o", "1.34.0")
	}
	tests := map[string]struct {
		node       []func(*testing.T, string)
		socketFile string
		want       []found
		wantErr    []string
	}{
		"only containerd/containerd.sock": {
			node: []func(*testing.T, string){containerd("containerd/containerd.sock")},
			want: []found{{"containerd/containerd.sock", "containerd"}},
		},
		"containerd and cri-o, the first dead": {
			node: []func(*testing.T, string){
				func(t *testing.T, dir string) { critest.Dead(t, filepath.Join(dir, "containerd.sock")) }, crio,
			},
			want: []found{{"crio/crio.sock", "cri-o"}},
		},
		"containerd and cri-o, both alive": {
			node: []func(*testing.T, string){crio, containerd("containerd.sock")},
			want: []found{{"containerd.sock", "containerd"}, {"crio/crio.sock", "cri-o"}},
		},
		"the socket file is missing while containerd.sock exists": {
			node:       []func(*testing.T, string){containerd("containerd.sock")},
			socketFile: "foo.sock",
			wantErr:    []string{"not found container runtime sock", "foo.sock"},
		},
		"the socket file alone counts": {
			node:       []func(*testing.T, string){containerd("containerd.sock"), containerd("k3s/containerd.sock")},
			socketFile: "k3s/containerd.sock",
			want:       []found{{"k3s/containerd.sock", "containerd"}},
		},
		"the socket file leads out of the run directory": {
			socketFile: "../foo.sock", wantErr: []string{`"../foo.sock"`, "relative"},
		},
		"an endpoint without v1 is left out": {
			node: []func(*testing.T, string){
				func(t *testing.T, dir string) { critest.StartOther(t, filepath.Join(dir, "containerd.sock")) }, crio,
			},
			want: []found{{"crio/crio.sock", "cri-o"}},
		},
		"no socket at all": {
			wantErr: []string{"not found container runtime sock", "containerd/containerd.sock"},
		},
		"a file instead of a socket": {
			node: []func(*testing.T, string){func(t *testing.T, dir string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "containerd.sock"), nil, 0o600))
			}},
			wantErr: []string{"containerd.sock is not a socket"},
		},
		"every failure is told": {
			node: []func(*testing.T, string){
				func(t *testing.T, dir string) { critest.Dead(t, filepath.Join(dir, "containerd.sock")) },
				func(t *testing.T, dir string) { critest.StartOther(t, filepath.Join(dir, "crio.sock")) },
			},
			wantErr: []string{"containerd.sock: connect image service", "connection refused", "crio.sock: connect image service", "Unimplemented"},
		},
		"one runtime by two paths is registered once": {
			node: []func(*testing.T, string){
				containerd("containerd/containerd.sock"),
				func(t *testing.T, dir string) {
					require.NoError(t, os.Symlink("containerd/containerd.sock", filepath.Join(dir, "containerd.sock")))
				},
			},
			want: []found{{"containerd.sock", "containerd"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := runDir(t)
			for _, prepare := range test.node {
				prepare(t, dir)
			}
			var runtimes cri.Runtimes
			sockets, err := cri.Sockets(dir, test.socketFile)
			if err == nil {
				runtimes, err = cri.Detect(t.Context(), sockets)
			}
			if test.wantErr != nil {
				for _, want := range test.wantErr {
					assert.ErrorContains(t, err, want)
				}
				return
			}
			require.NoError(t, err)
			var got []found
			for _, runtime := range runtimes {
				socket, err := filepath.Rel(dir, runtime.Socket)
				require.NoError(t, err)
				got = append(got, found{socket, runtime.Name})
			}
			assert.Equal(t, test.want, got)
			assert.Same(t, runtimes[0], runtimes.Named(runtimes[0].Name))
			assert.Nil(t, runtimes.Named("docker"))
			assert.NoError(t, runtimes.Close(t.Context()))
		})
	}
}

func TestDetectEndsWithItsContext(t *testing.T) {
	dir := runDir(t)
	critest.Start(t, filepath.Join(dir, "containerd.sock"), "containerd", "2.1.0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := cri.Detect(ctx, []string{filepath.Join(dir, "containerd.sock")})
	assert.ErrorContains(t, err, "canceled")
}

// The check fails while the socket is missing and succeeds when the socket is back, without a restart.
// Case node-agent 21.
func TestCheckSocketReturns(t *testing.T) {
	socket := filepath.Join(runDir(t), "containerd.sock")
	server := critest.Start(t, socket, "containerd", "2.1.0")
	runtimes, err := cri.Detect(t.Context(), []string{socket})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, runtimes.Close(context.WithoutCancel(t.Context()))) })
	clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	check := cri.NewCheck(cri.NewChoice(runtimes, names("")), clock)
	require.NoError(t, check.Check(t.Context()))

	server.Stop()
	assert.NoFileExists(t, socket)
	clock.SetTime(time.Unix(9, 0))
	assert.NoError(t, check.Check(t.Context()), "an answer counts for 10 s")
	clock.SetTime(time.Unix(11, 0))
	assert.ErrorContains(t, check.Check(t.Context()), "runtime containerd at "+socket)

	critest.Start(t, socket, "containerd", "2.1.1")
	clock.SetTime(time.Unix(20, 0))
	assert.Error(t, check.Check(t.Context()), "a failure counts for 10 s too")
	now := time.Unix(20, 0)
	assert.Eventually(t, func() bool {
		now = now.Add(11 * time.Second)
		clock.SetTime(now)
		return check.Check(t.Context()) == nil
	}, 20*time.Second, 50*time.Millisecond)
	// The image service has a connection of its own, which may learn later that the old runtime is gone.
	assert.Eventually(t, func() bool {
		images, err := runtimes[0].Images.ListImages(t.Context(), nil)
		return err == nil && len(images) == 0
	}, 20*time.Second, 50*time.Millisecond)
}

// A runtime that nothing uses may be stopped while the agent runs. The metric shows it.
func TestCheckNeedsTheRuntimeOfTheKubeletAlone(t *testing.T) {
	cri.RegisterMetrics()
	dir := runDir(t)
	sockets := []string{filepath.Join(dir, "first.sock"), filepath.Join(dir, "second.sock"), filepath.Join(dir, "third.sock")}
	first := critest.Start(t, sockets[0], "containerd", "2.1.0")
	second := critest.Start(t, sockets[1], "cri-o", "1.35.0")
	third := critest.Start(t, sockets[2], "docker", "0.4.0")
	runtimes, err := cri.Detect(t.Context(), sockets)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, runtimes.Close(context.WithoutCancel(t.Context()))) })
	clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	check := cri.NewCheck(cri.NewChoice(runtimes, names("")), clock)
	require.NoError(t, check.Check(t.Context()))

	second.Stop()
	third.Hang()
	clock.SetTime(time.Unix(11, 0))
	probed, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	require.NoError(t, check.Check(probed))
	require.NoError(t, probed.Err(), "the probe does not time out")
	require.NoError(t, testutil.GatherAndCompare(legacyregistry.DefaultGatherer, strings.NewReader(`
# HELP kruise_node_agent_cri_up [ALPHA] 1 if the container runtime answered the last check, 0 otherwise.
# TYPE kruise_node_agent_cri_up gauge
kruise_node_agent_cri_up{runtime="containerd"} 1
kruise_node_agent_cri_up{runtime="cri-o"} 0
kruise_node_agent_cri_up{runtime="docker"} 0
`), "kruise_node_agent_cri_up"))

	first.Stop()
	clock.SetTime(time.Unix(22, 0))
	assert.ErrorContains(t, check.Check(t.Context()), "runtime containerd at "+sockets[0])
}

func TestCheckIgnoresACanceledCaller(t *testing.T) {
	socket := filepath.Join(runDir(t), "containerd.sock")
	critest.Start(t, socket, "containerd", "2.1.0")
	runtimes, err := cri.Detect(t.Context(), []string{socket})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, runtimes.Close(context.WithoutCancel(t.Context()))) })
	check := cri.NewCheck(cri.NewChoice(runtimes, names("")), testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, check.Check(ctx))
	assert.NoError(t, check.Check(t.Context()))
}

func TestStopMayTakeTwoMinutesBeyondTheGracePeriod(t *testing.T) {
	socket := filepath.Join(runDir(t), "containerd.sock")
	server := critest.Start(t, socket, "containerd", "2.1.0")
	runtimes, err := cri.Detect(t.Context(), []string{socket})
	require.NoError(t, err)
	require.NoError(t, runtimes[0].Containers.StopContainer(t.Context(), "a", 30))
	assert.InDelta(t, 150, server.AllowedForStop().Seconds(), 20, "30 s for the container and 2 min for a busy runtime")
	assert.NoError(t, runtimes.Close(t.Context()))
}
