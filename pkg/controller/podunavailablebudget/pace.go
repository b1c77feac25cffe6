package podunavailablebudget

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pace is the minimum time between two counts of a budget. If many Pods change, one count covers all changes since the last
// count. docs/architecture/budgets.md promises this limit.
const pace = 100 * time.Millisecond

// pacer records when budgets were counted.
type pacer struct {
	// every is the minimum time between two counts. It is not changed.
	every time.Duration
	// lock guards last.
	lock sync.Mutex
	last map[types.NamespacedName]time.Time
}

func newPacer(every time.Duration) *pacer {
	return &pacer{every: every, last: map[types.NamespacedName]time.Time{}}
}

// wait returns how long the next count must wait. Zero means that the budget may be counted now; wait then records the count.
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

// forget drops a deleted budget.
func (p *pacer) forget(key types.NamespacedName) {
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.last, key)
}
