//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWithoutTheAPIServer stops the apiserver once for several tests. They show what goes on, what waits and what is refused meanwhile.
func TestWithoutTheAPIServer(t *testing.T) {
	o := &outage{e: newEnv(t), at: map[*testing.T]step{}}
	for s := range o.over {
		o.over[s] = make(chan struct{})
	}
	t.Cleanup(func() { _ = o.act(context.WithoutCancel(t.Context()), returned) })
	for name, test := range map[string]func(*testing.T, *outage){
		// Case podunavailablebudget 5a.
		"budgets":          budgetsInAnOutage,
		"finished updates": finishedUpdatesInAnOutage,
		// Case deletion-protection 18.
		"protection": protectionInAnOutage,
		// Case sidecarset 52.
		"pods without sidecars": podsOfAnOutageAreCounted,
	} {
		t.Run(name, func(t *testing.T) {
			o.at[t] = preparing // Parallel tests begin when all of them are here.
			t.Parallel()
			defer o.leave(t)
			test(t, o)
		})
	}
}

// step is how far a test has come.
type step int

const (
	// preparing tests use the apiserver.
	preparing step = iota
	// prepared tests need only a moment more before the outage.
	prepared
	// begun tests wait for the outage, and are in it when all tests have come so far.
	begun
	// returned tests have seen the outage, and wait for its end.
	returned
)

// outage is a time without the apiserver that parallel tests share. A step is over when all tests have reached it. So all of them must run at
// the same time: a smaller number of parallel tests than these would block them.
type outage struct {
	e *env
	// over are closed when the steps are over.
	over [returned + 1]chan struct{}

	lock sync.Mutex
	// at is how far each test has come, without those that have ended.
	at map[*testing.T]step
	// ended is the last step that is over.
	ended step
	// err is why the apiserver did not stop or start.
	err error
}

// prepared waits until all tests are prepared.
func (o *outage) prepared(t *testing.T) {
	t.Helper()
	o.reach(t, prepared)
}

// begin waits until all tests have come so far and the apiserver has stopped.
func (o *outage) begin(t *testing.T) {
	t.Helper()
	o.reach(t, begun)
}

// end waits until all tests have seen the outage and the apiserver serves again.
func (o *outage) end(t *testing.T) {
	t.Helper()
	o.reach(t, returned)
}

func (o *outage) reach(t *testing.T, s step) {
	t.Helper()
	o.lock.Lock()
	o.at[t] = s
	o.advance(t.Context())
	o.lock.Unlock()
	<-o.over[s]
	require.NoError(t, o.err)
}

// leave lets the other tests go on without a test that has ended.
func (o *outage) leave(t *testing.T) {
	o.lock.Lock()
	defer o.lock.Unlock()
	delete(o.at, t)
	o.advance(context.WithoutCancel(t.Context()))
}

// advance ends all steps that each test has reached. The caller holds the lock, and the others wait for the step anyway.
func (o *outage) advance(ctx context.Context) {
	for len(o.at) > 0 && o.ended < returned && slices.Min(slices.Collect(maps.Values(o.at))) > o.ended {
		o.ended++
		o.err = errors.Join(o.err, o.act(ctx, o.ended))
		close(o.over[o.ended])
	}
}

// act does what makes a step end.
func (o *outage) act(ctx context.Context, s step) error {
	for _, args := range map[step][][]string{begun: stopsAPIServer, returned: servesAgain}[s] {
		if out, err := o.e.command(ctx, append([]string{"--namespace=" + system}, args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}
