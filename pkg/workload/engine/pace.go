package engine

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// largeWorkload is a number of Pods. A workload with fewer has a pass at each event.
	largeWorkload = 50
	// pausePerPod makes the pause between two passes: each looks at every Pod, and each Pod brings several events along.
	pausePerPod  = 200 * time.Microsecond
	longestPause = time.Second
	// reportEvery is how often counts that keep changing are reported, when nothing else changed.
	reportEvery = time.Second
)

// Pace spares large workloads the passes and reports that the very next event makes out of date. Without it both would grow with
// the number of Pods, and each report would be an event that causes another pass. What a user changed, and the end of a rollout,
// never waits.
type Pace struct {
	clock clock.PassiveClock
	// Large is from how many Pods on a workload has a pace.
	Large int
	lock  sync.Mutex
	last  map[types.UID]moments
}

// moments are when a workload last had a pass, and a report.
type moments struct{ passed, reported time.Time }

// NewPace makes the pace of all workloads of a controller.
func NewPace(c clock.PassiveClock) *Pace {
	return &Pace{clock: c, Large: largeWorkload, last: map[types.UID]moments{}}
}

// PassIn returns how long the next pass over a workload with so many Pods has to wait.
func (p *Pace) PassIn(owner types.UID, pods int) time.Duration {
	if pods < p.Large {
		return 0
	}
	pause := min(time.Duration(pods)*pausePerPod, longestPause)
	p.lock.Lock()
	defer p.lock.Unlock()
	return max(0, pause-p.clock.Since(p.last[owner].passed))
}

// Passed notes the end of a pass.
func (p *Pace) Passed(owner types.UID, pods int) {
	p.change(owner, pods, func(m *moments) { m.passed = p.clock.Now() })
}

// ReportIn returns how long the next report has to wait. One that is urgent never does.
func (p *Pace) ReportIn(owner types.UID, pods int, urgent bool) time.Duration {
	if pods < p.Large || urgent {
		return 0
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	return max(0, reportEvery-p.clock.Since(p.last[owner].reported))
}

// Reported notes a report.
func (p *Pace) Reported(owner types.UID, pods int) {
	p.change(owner, pods, func(m *moments) { m.reported = p.clock.Now() })
}

func (p *Pace) change(owner types.UID, pods int, edit func(*moments)) {
	if pods < p.Large {
		return
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	m := p.last[owner]
	edit(&m)
	p.last[owner] = m
}

// Forget drops what is remembered of a workload that is gone.
func (p *Pace) Forget(owner types.UID) {
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.last, owner)
}
