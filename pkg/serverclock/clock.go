// Package serverclock tells programs the time of kube-apiserver, so that a wrong clock of their machine does no harm. Enter at Clock.
package serverclock

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// tolerance is the difference to kube-apiserver up to which the own time is kept. The header has whole seconds.
	tolerance = 2 * time.Second
	// settle is the minimum time between two corrections. Without it, several kube-apiservers with different clocks would change the time
	// at each request.
	settle = 10 * time.Second
)

// offsetMetric shows Offset as it was at the last answer. A program has one Clock.
var offsetMetric = metrics.NewGauge(&metrics.GaugeOpts{
	Name: "kruise_clock_offset_seconds", StabilityLevel: metrics.ALPHA,
	Help: "How much the time of kube-apiserver, which the program uses, is ahead of the clock of the machine. It is 0 up to a difference of " +
		"2 seconds.",
})

var registerMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(offsetMetric) })

// Clock tells the time of kube-apiserver. It reads the header Date of the answers that pass Wrap, and needs no request of its own. Until
// the first answer, it tells the time of the machine. After that, changes of the machine's clock have no effect on it.
//
// The zero value is not valid; use New. All methods are safe for concurrent use.
type Clock struct {
	// wall returns the time of the machine. It jumps when somebody sets the machine's clock. elapsed returns the time since New, and never
	// jumps.
	wall    func() time.Time
	elapsed func() time.Duration
	// anchor is nil until the first answer.
	anchor atomic.Pointer[anchor]
}

var _ clock.PassiveClock = &Clock{}

// anchor is a moment, and the time that Clock told then.
type anchor struct {
	elapsed time.Duration
	told    time.Time
}

// New returns a Clock for this machine.
func New() *Clock {
	registerMetrics()
	began := time.Now()
	return &Clock{wall: time.Now, elapsed: func() time.Duration { return time.Since(began) }}
}

// Now returns the time, in the zone of the machine.
func (c *Clock) Now() time.Time { return c.at(c.elapsed()) }

// Since returns the time that has passed since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Offset returns by how much this clock is ahead of the machine's.
func (c *Clock) Offset() time.Duration { return c.Now().Sub(c.wall().Round(0)) }

// at returns the time at a moment. Like all times of this clock, it has no monotonic reading, which belongs to the machine's clock.
func (c *Clock) at(elapsed time.Duration) time.Time {
	a := c.anchor.Load()
	if a == nil {
		return c.wall().Round(0)
	}
	return a.told.Add(elapsed - a.elapsed)
}

// Wrap returns a transport that reads the time from its answers. It has the type of a transport.WrapperFunc.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper { return &reader{clock: c, next: next} }

type reader struct {
	clock *Clock
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper. kube-apiserver itself answers requests below /api/. It may forward others to a server with
// another clock.
func (r *reader) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := r.clock.elapsed()
	response, err := r.next.RoundTrip(request)
	if err == nil && strings.HasPrefix(request.URL.Path, "/api/") {
		r.clock.read(sent, response.Header.Get("Date"))
		offsetMetric.Set(r.clock.Offset().Seconds())
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport that has the connections.
func (r *reader) WrappedRoundTripper() http.RoundTripper { return r.next }

// read corrects the clock by the header of an answer. An answer without a valid header is ignored.
func (c *Clock) read(sent time.Duration, header string) {
	date, err := http.ParseTime(header)
	if err != nil {
		return
	}
	received, before := c.elapsed(), c.anchor.Load()
	if before != nil && received-before.elapsed < settle {
		return
	}
	// The header has the whole second of some moment since the request was sent.
	earliest, latest := date.Add(-tolerance), date.Add(time.Second+received-sent+tolerance)
	told := c.at(received)
	wrong := told.Before(earliest) || told.After(latest)
	if wrong {
		told = date.Add(time.Second / 2).Local()
	} else if before != nil {
		return
	}
	// If it fails, another answer was first.
	if c.anchor.CompareAndSwap(before, &anchor{received, told}) && wrong {
		klog.Background().Info("Warning: the clock of this machine differs from that of kube-apiserver, which is used instead; synchronize "+
			"the clocks of the nodes", "ahead", -c.Offset().Round(time.Second))
	}
}
