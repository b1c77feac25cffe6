package cri

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// slowRuntime answers commands after a delay.
type slowRuntime struct {
	runtimeapi.RuntimeServiceClient
	after time.Duration
	err   error
}

func (r *slowRuntime) ExecSync(ctx context.Context, _ *runtimeapi.ExecSyncRequest, _ ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error) {
	select {
	case <-time.After(r.after):
		return &runtimeapi.ExecSyncResponse{}, r.err
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// A busy node can take long to start a command. Only the runtime knows whether the command itself was too slow.
func TestOnlyTheRuntimeSaysThatACommandIsTooSlow(t *testing.T) {
	timedOut := status.Error(codes.DeadlineExceeded, "timeout 1s exceeded")
	tests := map[string]struct {
		after time.Duration
		err   error
		check func(*testing.T, error)
	}{
		"an answer long after the timeout": {20 * time.Second, nil, func(t *testing.T, err error) { require.NoError(t, err) }},
		"a timeout of the runtime":         {20 * time.Second, timedOut, func(t *testing.T, err error) { require.ErrorIs(t, err, ErrTimedOut) }},
		"no answer": {time.Hour, nil, func(t *testing.T, err error) {
			require.NotErrorIs(t, err, ErrTimedOut)
			require.ErrorContains(t, err, "did not answer within 30s after the timeout of the command")
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &containers{client: &slowRuntime{after: tc.after, err: tc.err}, late: LateAnswer}
				start := time.Now()
				_, _, err := c.ExecSync(t.Context(), "A", []string{"check"}, time.Second)
				tc.check(t, err)
				assert.LessOrEqual(t, time.Since(start), 31*time.Second)
			})
		})
	}
}
