package podunavailablebudget

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pace is the time between two counts of a budget. Where many Pods come and go, one count serves for all that did so since the last.
const pace = 100 * time.Millisecond

// pacer knows when budgets were counted.
type pacer struct {
	every time.Duration
	lock  sync.Mutex
	last  map[types.NamespacedName]time.Time
}

func newPacer(every time.Duration) *pacer {
	return &pacer{every: every, last: map[types.NamespacedName]time.Time{}}
}

// wait returns how long it is too early for another count, or zero when it is time: then it counts as made.
func (p *pacer) wait(key types.NamespacedName, now time.Time) time.Duration {
	p.lock.Lock()
	defer p.lock.Unlock()
	if last, found := p.last[key]; found {
		if next := last.Add(p.every); now.Before(next) {
			return next.Sub(now)
		}
	}
	p.last[key] = now
	return 0
}

// forget drops a budget that is gone.
func (p *pacer) forget(key types.NamespacedName) {
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.last, key)
}
