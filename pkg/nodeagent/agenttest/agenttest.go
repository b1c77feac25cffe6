// Package agenttest runs parts of the node agent in tests, in virtual time if the test is in a synctest bubble. The fakes of the API
// are in pkg/nodeagent/cluster/clustertest. Enter at Run.
package agenttest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Run runs a part of the agent until the returned function is called, which waits for the end and requires that it is no failure.
// A second call does nothing.
func Run(ctx context.Context, t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		defer close(done)
		done <- run(ctx)
	}()
	return func() {
		t.Helper()
		cancel()
		require.NoError(t, <-done)
	}
}

// Pass advances the clock of a synctest bubble by d, and waits until nothing runs any more at that time. Outside of a
// bubble it only sleeps for d.
func Pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
