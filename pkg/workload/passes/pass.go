package passes

import (
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

const (
	// Width is the maximum number of concurrent requests of a pass.
	Width = 16
	// Time is how long a pass starts new requests. It limits how late a pause, a rollback or a deletion takes effect, and how long one
	// object occupies a worker.
	Time = time.Second
	// Continue is the delay before the next pass, after a pass ran out of time. The guard then makes that pass wait until the caches
	// show the writes of this one.
	Continue = 10 * time.Millisecond
)

// Pass limits the requests of one pass. It may be used by several goroutines.
type Pass struct {
	clock clock.PassiveClock
	end   time.Time
	width int
	// unfinished is set once the pass runs out of time before all of its requests have begun, or by MarkUnfinished.
	unfinished atomic.Bool
}

// Begin returns the limits of a pass that begins now. A width of 0 means Width.
func Begin(now clock.PassiveClock, width int) *Pass {
	if width == 0 {
		width = Width
	}
	return &Pass{clock: now, end: now.Now().Add(Time), width: width}
}

// Over reports whether the pass has run out of time. If so, the pass is unfinished: ask only if there is more to do.
func (p *Pass) Over() bool {
	if p.clock.Now().Before(p.end) {
		return false
	}
	p.MarkUnfinished()
	return true
}

// MarkUnfinished records that the next pass has to continue, even if no event starts it.
func (p *Pass) MarkUnfinished() { p.unfinished.Store(true) }

// Unfinished reports whether the next pass has to follow after Continue.
func (p *Pass) Unfinished() bool { return p.unfinished.Load() }

// Each calls f for 0..n-1, several at once, and returns all errors joined. It starts no further calls once the pass has run out of
// time. The first call is always made, so each pass makes progress.
func (p *Pass) Each(n int, f func(i int) error) error {
	return Parallel(n, p.width, func(i int) error {
		if i > 0 && p.Over() {
			return nil
		}
		return f(i)
	})
}

// SlowStart is the function SlowStart within the limits of the pass. A batch can be larger than the width. After the first one, no batch
// begins once the pass has run out of time.
func (p *Pass) SlowStart(n, largest int, f func(i int) error) error {
	return batches(n, largest, func(begin, end int) error {
		if begin > 0 && p.Over() {
			return nil
		}
		return p.Each(end-begin, func(i int) error { return f(begin + i) })
	})
}
