package app

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"kruise.io/kruise/pkg/apiserver/guard"
)

// TestHangingRequestsDoNotHoldAClosedStore checks that the process ends although requests hang. Its caches belong to
// a store that is no longer served.
func TestHangingRequestsDoNotHoldAClosedStore(t *testing.T) {
	for name, test := range map[string]struct {
		cause error
		want  time.Duration
	}{
		"the store is closed": {fmt.Errorf("%w: wiped", guard.ErrClosed), closedPatience},
		"the server ends":     {nil, time.Minute},
		"the store stopped":   {errors.New("the embedded etcd stopped"), time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				start := time.Now()
				cancel(test.cause)
				assert.NoError(t, serve(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					<-time.After(time.Minute) // This stands for a request that hangs.
					return nil
				}))
				assert.Equal(t, test.want, time.Since(start))
				<-time.After(time.Minute)
			})
		})
	}
}
