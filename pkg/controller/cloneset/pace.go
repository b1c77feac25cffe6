package cloneset

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

const (
	// largeSet is a number of Pods. A CloneSet with fewer is worked on at each event.
	largeSet = 50
	// pausePerPod makes the pause between two passes: each looks at every Pod, and each Pod brings several events along.
	pausePerPod  = 200 * time.Microsecond
	longestPause = time.Second
	// reportEvery is how often nothing but counts that go on changing are reported.
	reportEvery = time.Second
)

// pace spares large CloneSets the passes and reports that the very next event makes out of date. Without it both would grow
// with the number of Pods, and each report would be an event that brings on another pass. What a user changed, and what a
// rollout comes to in the end, never waits.
type pace struct {
	clock clock.PassiveClock
	// large is from how many Pods on a CloneSet has a pace.
	large int32
	lock  sync.Mutex
	last  map[types.UID]moments
}

// moments are when a CloneSet last was worked on, and reported on.
type moments struct{ passed, reported time.Time }

func newPace(c clock.PassiveClock) *pace {
	return &pace{clock: c, large: largeSet, last: map[types.UID]moments{}}
}

func (p *pace) of(set types.UID) moments {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.last[set]
}

func (p *pace) change(set types.UID, edit func(*moments)) {
	p.lock.Lock()
	defer p.lock.Unlock()
	m := p.last[set]
	edit(&m)
	p.last[set] = m
}

func (p *pace) forget(set types.UID) {
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.last, set)
}

// passIn returns how long the next pass has to wait.
func (p *pace) passIn(set *v1beta1.CloneSet) time.Duration {
	pods := set.Status.Replicas
	if pods < p.large || set.Generation != set.Status.ObservedGeneration || set.DeletionTimestamp != nil {
		return 0
	}
	pause := min(time.Duration(pods)*pausePerPod, longestPause)
	return max(0, pause-p.clock.Since(p.of(set.UID).passed))
}

// passed notes that a pass is over.
func (p *pace) passed(set *v1beta1.CloneSet) {
	if set.Status.Replicas >= p.large {
		p.change(set.UID, func(m *moments) { m.passed = p.clock.Now() })
	}
}

// reportIn returns how long a new status has to wait, and notes one that has not.
func (p *pace) reportIn(set *v1beta1.CloneSet, status *v1beta1.CloneSetStatus) time.Duration {
	if status.Replicas < p.large || sameStatus(&set.Status, status) {
		return 0
	}
	wait := reportEvery - p.clock.Since(p.of(set.UID).reported)
	if wait > 0 && onlyCountsDiffer(&set.Status, status) && !settledCounts(set, status) {
		return wait
	}
	p.change(set.UID, func(m *moments) { m.reported = p.clock.Now() })
	return 0
}

func onlyCountsDiffer(before, after *v1beta1.CloneSetStatus) bool {
	counted := *after
	counted.Replicas, counted.ReadyReplicas, counted.AvailableReplicas = before.Replicas, before.ReadyReplicas, before.AvailableReplicas
	counted.UpdatedReplicas, counted.UpdatedReadyReplicas = before.UpdatedReplicas, before.UpdatedReadyReplicas
	counted.UpdatedAvailableReplicas = before.UpdatedAvailableReplicas
	return sameStatus(before, &counted)
}

// settledCounts tells whether a rollout has come to where the partition ends it.
func settledCounts(set *v1beta1.CloneSet, status *v1beta1.CloneSetStatus) bool {
	wanted := int32(1)
	if set.Spec.Replicas != nil {
		wanted = *set.Spec.Replicas
	}
	return status.Replicas == wanted && status.AvailableReplicas == wanted && status.UpdatedAvailableReplicas >= status.ExpectedUpdatedReplicas
}
