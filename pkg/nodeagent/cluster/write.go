package cluster

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
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
	left := writeTimeout - now.Sub(w.at)
	later, err := resourceversion.CompareResourceVersion(w.object.GetResourceVersion(), cached.GetResourceVersion())
	if err == nil && later > 0 && left > 0 {
		return w.object, left
	}
	return cached, 0
}
