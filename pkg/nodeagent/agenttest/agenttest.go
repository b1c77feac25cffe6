// Package agenttest runs parts of the node agent in tests, in virtual time if the test is in a synctest bubble. The fakes of the API
// are in pkg/nodeagent/cluster/clustertest. Enter at Run.
package agenttest

import (
	"context"
	"sync"
	"testing/synctest"
	"time"
)

// Run runs a part of the agent until the returned function is called, which waits for the end. A second call does nothing.
func Run(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// Pass advances the clock of a synctest bubble by d, and waits until nothing runs any more at that time. Outside of a
// bubble it only sleeps for d.
func Pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
