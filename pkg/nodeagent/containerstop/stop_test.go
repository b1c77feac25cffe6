package containerstop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"
	utilexec "k8s.io/utils/exec"

	"kruise.io/kruise/pkg/nodeagent/cri"
)

// fakeRuntime is a runtime with one container.
type fakeRuntime struct {
	state       runtimeapi.ContainerState
	annotations map[string]string
	statusErr   error
	stopErr     error
	// hook is how long an exec hook takes. hookErr is its result.
	hook    time.Duration
	hookErr error
	// kill is how long the container runs after the stop signal.
	kill time.Duration
	// lock guards calls, because a slow hook runs beside the stop.
	lock  sync.Mutex
	calls []string
}

func (f *fakeRuntime) called(call string) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.calls = append(f.calls, call)
}

func (f *fakeRuntime) all() []string {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.calls
}

func (f *fakeRuntime) ContainerStatus(context.Context, string, bool) (*runtimeapi.ContainerStatusResponse, error) {
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{State: f.state, Annotations: f.annotations}}, f.statusErr
}

func (f *fakeRuntime) ExecSync(ctx context.Context, _ string, cmd []string, timeout time.Duration) (stdout, stderr []byte, err error) {
	f.called(strings.Join(cmd, " "))
	select {
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-time.After(timeout):
		return nil, nil, cri.ErrTimedOut
	case <-time.After(f.hook):
		f.called("done")
		return nil, []byte("the password is 1234"), f.hookErr
	}
}

func (f *fakeRuntime) StopContainer(_ context.Context, _ string, timeout int64) error {
	f.called(fmt.Sprintf("stop %d", timeout))
	<-time.After(f.kill)
	return f.stopErr
}

func TestStop(t *testing.T) {
	const running = runtimeapi.ContainerState_CONTAINER_RUNNING
	exec := `{"exec":{"command":["bye","now"]}}`
	tests := map[string]struct {
		runtime    *fakeRuntime
		want       []string
		hookFailed string
		err        string
	}{
		"no hook": {
			&fakeRuntime{state: running, annotations: map[string]string{terminationGraceKey: "30"}}, []string{"stop 30"}, "", "",
		},
		"no grace period": {&fakeRuntime{state: running}, []string{"stop 2"}, "", ""},
		"the grace period of a deletion comes first": {
			&fakeRuntime{state: running, annotations: map[string]string{terminationGraceKey: "30", deletionGraceKey: "5"}}, []string{"stop 5"}, "", "",
		},
		"what the hook takes is taken off": {
			&fakeRuntime{state: running, annotations: map[string]string{terminationGraceKey: "30", preStopKey: exec}, hook: 10 * time.Second},
			[]string{"bye now", "done", "stop 20"}, "", "",
		},
		"a hook that takes all of it": {
			&fakeRuntime{state: running, annotations: map[string]string{terminationGraceKey: "30", preStopKey: exec}, hook: time.Hour},
			[]string{"bye now", "stop 2"}, "timed out", "",
		},
		"a hook that ends while the container still stops": {
			&fakeRuntime{
				state: running, annotations: map[string]string{terminationGraceKey: "30", preStopKey: exec}, hook: 31 * time.Second, kill: 2 * time.Second,
			},
			[]string{"bye now", "stop 2", "done"}, "timed out", "",
		},
		"a hook that fails": {
			&fakeRuntime{state: running, annotations: map[string]string{terminationGraceKey: "30", preStopKey: exec}, hookErr: utilexec.CodeExitError{Err: errors.New("exit"), Code: 7}},
			[]string{"bye now", "done", "stop 30"}, "the command ended with status 7", "",
		},
		"a hook that sleeps": {
			&fakeRuntime{state: running, annotations: map[string]string{terminationGraceKey: "30", preStopKey: `{"sleep":{"seconds":3}}`}},
			[]string{"stop 27"}, "", "",
		},
		"a hook that sleeps longer than numbers can say": {
			&fakeRuntime{state: running, annotations: map[string]string{terminationGraceKey: "30", preStopKey: `{"sleep":{"seconds":9223372037}}`}},
			[]string{"stop 2"}, "", "",
		},
		"a hook without a grace period": {
			&fakeRuntime{state: running, annotations: map[string]string{terminationGraceKey: "0", preStopKey: exec}}, []string{"stop 2"}, "", "",
		},
		"a hook of no known kind": {
			&fakeRuntime{state: running, annotations: map[string]string{terminationGraceKey: "30", preStopKey: `{}`}}, []string{"stop 30"}, "none of exec, httpGet and sleep", "",
		},
		"ended":       {&fakeRuntime{state: runtimeapi.ContainerState_CONTAINER_EXITED}, nil, "", ""},
		"not started": {&fakeRuntime{state: runtimeapi.ContainerState_CONTAINER_CREATED}, nil, "", "has not started yet"},
		"the runtime does not know its state": {
			&fakeRuntime{state: runtimeapi.ContainerState_CONTAINER_UNKNOWN, annotations: map[string]string{terminationGraceKey: "30", preStopKey: exec}},
			[]string{"stop 30"}, "", "",
		},
		"gone": {&fakeRuntime{statusErr: status.Error(codes.NotFound, "")}, nil, "", ""},
		"gone meanwhile": {
			&fakeRuntime{state: running, stopErr: status.Error(codes.NotFound, "")}, []string{"stop 2"}, "", "",
		},
		"the runtime is away": {&fakeRuntime{statusErr: status.Error(codes.Unavailable, "away")}, nil, "", "away"},
		"it does not stop":    {&fakeRuntime{state: running, stopErr: errors.New("busy")}, []string{"stop 2"}, "", "busy"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var failure error
				begun := false
				err := (&Stopper{Clock: clock.RealClock{}}).Stop(t.Context(), Target{
					Runtime: tc.runtime, ID: "A", Begin: func() { begun = true }, HookFailed: func(err error) { failure = err },
				})
				if tc.err != "" {
					require.ErrorContains(t, err, tc.err)
				} else {
					require.NoError(t, err)
				}
				synctest.Wait()
				assert.Equal(t, tc.want, tc.runtime.all())
				assert.Equal(t, len(tc.want) > 0, begun)
				if tc.hookFailed != "" {
					require.ErrorContains(t, failure, tc.hookFailed)
					assert.NotContains(t, failure.Error(), "1234", "callers record the error in events, so it has no output of the hook")
				} else {
					require.NoError(t, failure)
				}
			})
		})
	}
}

func TestHookThatIsARequest(t *testing.T) {
	var got *http.Request
	code := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.WriteHeader(code)
	}))
	defer server.Close()
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	stop := func(port string) (failure error) {
		runtime := &fakeRuntime{state: runtimeapi.ContainerState_CONTAINER_RUNNING, annotations: map[string]string{
			terminationGraceKey: "30", portsKey: `[{"name":"web","containerPort":` + strings.Split(server.Listener.Addr().String(), ":")[1] + `}]`,
			preStopKey: `{"httpGet":{"path":"/bye?now","port":` + port + `,"httpHeaders":[{"name":"Host","value":"h"},{"name":"X","value":"1"}]}}`,
		}}
		require.NoError(t, (&Stopper{Clock: clock.RealClock{}}).Stop(t.Context(), Target{
			Runtime: runtime, ID: "A", PodIP: host, HookFailed: func(err error) { failure = err },
		}))
		return failure
	}
	for _, port := range []string{port, strconv.Quote("web"), strconv.Quote(port)} {
		got = nil
		require.NoError(t, stop(port))
		require.NotNil(t, got)
		assert.Equal(t, "/bye?now", got.URL.String())
		assert.Equal(t, "h", got.Host)
		assert.Equal(t, "1", got.Header.Get("X"))
	}
	require.ErrorContains(t, stop(`"other"`), `no port named "other"`)
	code = http.StatusInternalServerError
	require.NoError(t, stop(port), "the kubelet accepts any answer")
	server.Close()
	assert.ErrorContains(t, stop(port), "the HTTP request failed")
}

func TestLongestGracePeriodDoesNotOverflow(t *testing.T) {
	runtime := &fakeRuntime{state: runtimeapi.ContainerState_CONTAINER_RUNNING}
	require.NoError(t, (&Stopper{Clock: clock.RealClock{}}).Stop(t.Context(), Target{
		Runtime: runtime, ID: "A", Manner: &Manner{Grace: math.MaxInt64},
	}))
	assert.Equal(t, []string{"stop 2147483647"}, runtime.calls, "runtimes turn seconds into nanoseconds")
}
