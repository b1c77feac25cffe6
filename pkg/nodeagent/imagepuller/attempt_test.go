package imagepuller

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestRuntimeMayNoticeFirst checks that the message is the same if the runtime reports the end of the time first.
func TestRuntimeMayNoticeFirst(t *testing.T) {
	over, own := status.Error(codes.DeadlineExceeded, "context deadline exceeded"), errors.New("its time is over")
	for name, test := range map[string]struct {
		err  error
		left time.Duration
		want error
	}{
		"a moment before us":    {over, 5 * time.Millisecond, own},
		"for a reason of its":   {over, time.Minute, over},
		"after us":              {errors.New("reading"), -time.Second, own},
		"another failure, late": {own, 5 * time.Millisecond, own},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), test.left, own)
				defer cancel()
				assert.Equal(t, test.want, ended(ctx, test.err))
			})
		})
	}
}
