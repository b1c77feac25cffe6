package engine

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// largeWorkload is the number of Pods from which passes and reports are delayed. A smaller workload gets a pass for each event.
	largeWorkload = 50
	// pausePerPod times the number of Pods is the pause between two passes. A pass looks at every Pod, and every Pod causes several
	// events.
	pausePerPod  = 200 * time.Microsecond
	longestPause = time.Second
	// reportEvery is the minimum interval between reports of counts that keep changing, if nothing else changed.
	reportEvery = time.Second
)

// Pace delays passes and reports of large workloads that the next event would make obsolete. Without it, both would grow with
// the number of Pods, and each report would be an event that triggers another pass. A change by a user and the end of a rollout
// are never delayed.
type Pace struct {
	clock clock.PassiveClock
	// Large is the number of Pods from which a workload is delayed.
	Large int
	// lock guards last, which has an entry for each large workload.
	lock sync.Mutex
	last map[types.UID]moments
}

// moments holds when a workload last had a pass and a report.
type moments struct{ passed, reported time.Time }

// NewPace returns the pace for all workloads of a controller.
func NewPace(c clock.PassiveClock) *Pace {
	return &Pace{clock: c, Large: largeWorkload, last: map[types.UID]moments{}}
}

// PassIn returns how long the next pass over a workload with this number of Pods must wait. Zero means that it may begin. The
// first pass never waits.
func (p *Pace) PassIn(owner types.UID, pods int) time.Duration {
	if pods < p.Large {
		return 0
	}
	pause := min(time.Duration(pods)*pausePerPod, longestPause)
	p.lock.Lock()
	defer p.lock.Unlock()
	return max(0, pause-p.clock.Since(p.last[owner].passed))
}

// Passed records the end of a pass. The pause counts from the end, so a slow pass leaves as much time for others as a fast one.
func (p *Pace) Passed(owner types.UID, pods int) {
	p.change(owner, pods, func(m *moments) { m.passed = p.clock.Now() })
}

// ReportIn returns how long the next report must wait. An urgent report never waits.
func (p *Pace) ReportIn(owner types.UID, pods int, urgent bool) time.Duration {
	if pods < p.Large || urgent {
		return 0
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	return max(0, reportEvery-p.clock.Since(p.last[owner].reported))
}

// Reported records a report.
func (p *Pace) Reported(owner types.UID, pods int) {
	p.change(owner, pods, func(m *moments) { m.reported = p.clock.Now() })
}

// change edits the times of a large workload. Small ones have none.
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

// Forget drops the times that are kept for a deleted workload.
func (p *Pace) Forget(owner types.UID) {
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.last, owner)
}
