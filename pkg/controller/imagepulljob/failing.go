package imagepulljob

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// failing remembers the nodes whose NodeImages could not be written for a job, so that the job asks all other nodes before them. A
// node leaves it with its next write. A process that restarts asks the nodes in their usual order.
type failing struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	// of holds the failures by the UID of the job and the node.
	of map[types.UID]map[string]failure
}

// failure says since when each write to a node was rejected, and when the last write failed. rejected is zero if that one failed
// otherwise.
type failure struct{ rejected, last time.Time }

// add records that a write failed. It returns for how long each write to the node was rejected.
func (f *failing) add(job types.UID, node string, rejected bool) (duration time.Duration) {
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
	switch {
	case !rejected:
		is.rejected = time.Time{}
	case is.rejected.IsZero():
		is.rejected = is.last
	default:
		duration = is.last.Sub(is.rejected)
	}
	f.of[job][node] = is
	return duration
}

// keep drops the failures of all nodes but the given ones: the NodeImages of the others were deleted or written.
func (f *failing) keep(job types.UID, nodes ...[]*v1beta1.NodeImage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.of[job]) == 0 {
		return
	}
	kept := map[string]failure{}
	for _, image := range slices.Concat(nodes...) {
		if is, found := f.of[job][image.Name]; found {
			kept[image.Name] = is
		}
	}
	f.of[job] = kept
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
