package cluster

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
)

// writeTimeout is how long to wait for the watch to show our own write. After it, the cache is believed again: the server may have
// lost the write, because its store was restored.
const writeTimeout = 30 * time.Second

// Written holds an object as the last own write returned it, until the cache shows the write. The zero value holds none.
type Written[T metav1.Object] struct {
	object T
	at     time.Time
}

// Wrote returns what holds an object that was just written.
func Wrote[T metav1.Object](object T, now time.Time) Written[T] { return Written[T]{object, now} }

// Empty returns true if nothing was written.
func (w Written[T]) Empty() bool { return w.at.IsZero() }

// Newer returns the written object and the time for which it is believed, until the cache shows the write. Otherwise it returns the
// cached object and zero.
func (w Written[T]) Newer(cached T, now time.Time) (T, time.Duration) {
	if w.Empty() || w.object.GetUID() != cached.GetUID() {
		return cached, 0
	}
	if left := unseen(w.object.GetResourceVersion(), cached, now.Sub(w.at)); left > 0 {
		return w.object, left
	}
	return cached, 0
}

// Writes holds the versions of the last own writes to many objects, until the cache shows them. A decision on an older cached object
// would repeat a step. It is safe for concurrent use.
type Writes struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	of    map[types.UID]version
}

type version struct {
	resourceVersion string
	at              time.Time
}

// NewWrites returns Writes that holds none.
func NewWrites(clock clock.PassiveClock) *Writes {
	return &Writes{clock: clock, of: map[types.UID]version{}}
}

// Wrote holds the version of an object that was just written.
func (w *Writes) Wrote(written metav1.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of[written.GetUID()] = version{written.GetResourceVersion(), w.clock.Now()}
}

// Unseen returns how long to wait for the cache to show the last own write to an object, or zero.
func (w *Writes) Unseen(cached metav1.Object) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, found := w.of[cached.GetUID()]
	if !found {
		return 0
	}
	left := unseen(last.resourceVersion, cached, w.clock.Since(last.at))
	if left == 0 {
		delete(w.of, cached.GetUID())
	}
	return left
}

// Forget drops the write to an object that the cache will not show again.
func (w *Writes) Forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, uid)
}

// unseen returns how long to wait for the cache to show a write of some time ago, or zero. Versions that cannot be compared count as
// seen.
func unseen(written string, cached metav1.Object, ago time.Duration) time.Duration {
	later, err := resourceversion.CompareResourceVersion(written, cached.GetResourceVersion())
	if err != nil || later <= 0 {
		return 0
	}
	return max(writeTimeout-ago, 0)
}
