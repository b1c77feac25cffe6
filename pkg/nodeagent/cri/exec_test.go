package cri_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	utilexec "k8s.io/utils/exec"

	"kruise.io/kruise/pkg/nodeagent/cri"
	"kruise.io/kruise/pkg/nodeagent/cri/critest"
)

func TestCommands(t *testing.T) {
	socket := filepath.Join(runDir(t), "containerd.sock")
	server := critest.Start(t, socket, "containerd", "2.1.0")
	runtimes, err := cri.Detect(t.Context(), []string{socket})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, runtimes.Close(context.WithoutCancel(t.Context()))) })
	secret := []byte("the password is 1234")
	tests := map[string]struct {
		response *runtimeapi.ExecSyncResponse
		err      error
		check    func(t *testing.T, err error)
	}{
		"it succeeds": {&runtimeapi.ExecSyncResponse{Stdout: secret}, nil, func(t *testing.T, err error) { require.NoError(t, err) }},
		"it fails": {&runtimeapi.ExecSyncResponse{ExitCode: 3, Stderr: secret}, nil, func(t *testing.T, err error) {
			var exit utilexec.ExitError
			require.ErrorAs(t, err, &exit)
			assert.Equal(t, 3, exit.ExitStatus())
			assert.Equal(t, "exit status 3", err.Error())
		}},
		"it writes as much as it may": {
			&runtimeapi.ExecSyncResponse{Stdout: bytes.Repeat([]byte("x"), cri.MaxOutput)}, nil,
			func(t *testing.T, err error) { require.NoError(t, err) },
		},
		"it writes more than a runtime may send": {
			&runtimeapi.ExecSyncResponse{Stderr: bytes.Repeat([]byte("x"), 16<<20), ExitCode: 1}, nil,
			func(t *testing.T, err error) { require.ErrorIs(t, err, cri.ErrTooMuchOutput) },
		},
		"it takes too long": {nil, status.Error(codes.DeadlineExceeded, "timeout 2s exceeded"), func(t *testing.T, err error) {
			require.ErrorIs(t, err, cri.ErrTimedOut)
			assert.Equal(t, "timed out after 1.5s", err.Error())
		}},
		"it does not exist": {nil, status.Error(codes.Unknown, "no such file"), func(t *testing.T, err error) {
			require.ErrorIs(t, err, cri.ErrNotStarted)
			require.ErrorContains(t, err, "no such file")
		}},
		"the runtime fails": {nil, status.Error(codes.Unavailable, "away"), func(t *testing.T, err error) {
			require.ErrorContains(t, err, "away")
			require.NotErrorIs(t, err, cri.ErrTimedOut)
			require.NotErrorIs(t, err, cri.ErrNotStarted)
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server.OnExec(func(_ context.Context, r *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
				if r.GetContainerId() != "A" || len(r.GetCmd()) != 2 || r.GetTimeout() != 2 {
					return nil, errors.New("another request")
				}
				return tc.response, tc.err
			})
			stdout, stderr, err := runtimes[0].Containers.ExecSync(t.Context(), "A", []string{"check", "now"}, 1500*time.Millisecond)
			tc.check(t, err)
			if tc.response != nil && !errors.Is(err, cri.ErrTooMuchOutput) {
				assert.True(t, bytes.Equal(tc.response.Stdout, stdout))
				assert.True(t, bytes.Equal(tc.response.Stderr, stderr))
			}
		})
	}
}
