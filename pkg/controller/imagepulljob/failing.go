package imagepulljob

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// failing remembers the nodes whose NodeImages could not be written for a job, so that the job asks all other nodes before them. A
// node leaves it with its next write. A process that restarts asks the nodes in their usual order.
type failing struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	// of holds the failures by the UID of the job and the node.
	of map[types.UID]map[string]failure
}

// failure says when the writes to a node began to fail, and when the last one failed.
type failure struct{ first, last time.Time }

// add records that a write failed. It returns for how long the writes to the node have failed.
func (f *failing) add(job types.UID, node string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[types.UID]map[string]failure{}
	}
	if f.of[job] == nil {
		f.of[job] = map[string]failure{}
	}
	is := f.of[job][node]
	is.last = f.clock.Now()
	if is.first.IsZero() {
		is.first = is.last
	}
	f.of[job][node] = is
	return is.last.Sub(is.first)
}

// last returns when the last write to each failing node of a job failed.
func (f *failing) last(job types.UID) map[string]time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := make(map[string]time.Time, len(f.of[job]))
	for node, is := range f.of[job] {
		last[node] = is.last
	}
	return last
}

// remove drops the failures of a node, because it was written or refuses.
func (f *failing) remove(job types.UID, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of[job], node)
}

// forget drops what is kept for a deleted job.
func (f *failing) forget(job types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, job)
}
