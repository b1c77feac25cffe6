package statefulset

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// firstFailureWait is the delay before the second Pod of an ordinal that failed is deleted. The delay doubles with each failure.
	firstFailureWait = time.Second
	// longestFailureWait limits the delay, so that a Pod runs within a minute after the cause of its failures is gone.
	longestFailureWait = time.Minute
	// failureForgotten is the time without a failure after which an ordinal starts from the beginning.
	failureForgotten = 5 * time.Minute
)

// failure is what is known about the failed Pods of an ordinal: how many were deleted, and when the last one was.
type failure struct {
	count int
	last  time.Time
}

// failures delays the deletion of Pods that fail again and again. A controller that restarts begins without it. This costs at most
// one deletion for each ordinal that comes too early.
type failures struct {
	clock clock.PassiveClock
	lock  sync.Mutex
	// all holds the failures of each ordinal, by the UID of the set.
	all map[types.UID]map[int]failure
}

func newFailures(c clock.PassiveClock) *failures {
	return &failures{clock: c, all: map[types.UID]map[int]failure{}}
}

// waits returns a function that returns how long the failed Pod of an ordinal waits for its deletion. The first failed Pod is deleted
// at once.
func (f *failures) waits(set types.UID) func(ordinal int) time.Duration {
	return func(ordinal int) time.Duration {
		f.lock.Lock()
		defer f.lock.Unlock()
		before, found := f.all[set][ordinal]
		if !found {
			return 0
		}
		// The shift is limited to 6: one second shifted by 6 is already longer than longestFailureWait, and a larger shift would
		// overflow.
		wait := min(longestFailureWait, firstFailureWait<<min(before.count-1, 6))
		return max(0, wait-f.clock.Since(before.last))
	}
}

// deleted records that failed Pods were deleted. Each Pod is recorded when it is deleted, not when it fails, so passes that only wait
// do not lengthen the delay.
func (f *failures) deleted(set types.UID, ordinals []int) {
	if len(ordinals) == 0 {
		return
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	known := f.all[set]
	if known == nil {
		known = map[int]failure{}
		f.all[set] = known
	}
	for _, ordinal := range ordinals {
		before := known[ordinal]
		if f.clock.Since(before.last) > failureForgotten {
			before.count = 0
		}
		known[ordinal] = failure{count: before.count + 1, last: f.clock.Now()}
	}
}

// forget drops what is kept for a deleted set. A new set of the same name has another UID.
func (f *failures) forget(set types.UID) {
	f.lock.Lock()
	defer f.lock.Unlock()
	delete(f.all, set)
}
