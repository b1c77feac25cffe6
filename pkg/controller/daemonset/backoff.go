package daemonset

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

const (
	// firstBackoff is how long no other failed Pod of a node is deleted after the first one. The time doubles with each deletion.
	firstBackoff = time.Second
	// longestBackoff limits the time, so a node that works again gets a Pod within 15 minutes.
	longestBackoff = 15 * time.Minute
)

// backoff delays the deletion of failed Pods, so that a Pod that a node rejects again and again is not created in a hot loop. The
// delays of a node start again for another generation of the DaemonSet. It is kept in memory only. A controller that restarts deletes
// each failed Pod once without a delay.
type backoff struct {
	clock clock.PassiveClock
	lock  sync.Mutex
	// all holds the windows by the UID of the DaemonSet and by backoffKey.
	all map[types.UID]map[string]window
}

// window is the time after the deletion of a failed Pod in which no other one of the node is deleted.
type window struct {
	opened time.Time
	length time.Duration
}

func newBackoff(c clock.PassiveClock) *backoff {
	return &backoff{clock: c, all: map[types.UID]map[string]window{}}
}

// backoffKey returns the key of a node for the generation that the status shows. A new template can repair the Pods, so it starts
// without a delay.
func backoffKey(set *v1beta1.DaemonSet, node string) string {
	return fmt.Sprintf("%d/%s", set.Status.ObservedGeneration, node)
}

// wait returns how long failed Pods of the node must not be deleted.
func (b *backoff) wait(set *v1beta1.DaemonSet, node string) time.Duration {
	b.lock.Lock()
	defer b.lock.Unlock()
	w, found := b.all[set.UID][backoffKey(set, node)]
	if !found {
		return 0
	}
	return max(0, w.length-b.clock.Since(w.opened))
}

// opened records the deletion of failed Pods on nodes. Windows that ended long ago are dropped. It is called before the deletions, so
// a deletion that fails or waits for the next pass counts, too.
func (b *backoff) opened(set *v1beta1.DaemonSet, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	windows := b.all[set.UID]
	if windows == nil {
		windows = map[string]window{}
		b.all[set.UID] = windows
	}
	now := b.clock.Now()
	for key, w := range windows {
		// Keys of old generations and of removed nodes end here, and the map does not grow forever.
		if now.Sub(w.opened) > 2*longestBackoff {
			delete(windows, key)
		}
	}
	for _, node := range nodes {
		key, length := backoffKey(set, node), firstBackoff
		// The window that ended still tells how long the last delay was.
		if w, found := windows[key]; found {
			length = min(2*w.length, longestBackoff)
		}
		windows[key] = window{opened: now, length: length}
	}
}

// forget drops the windows of a deleted DaemonSet.
func (b *backoff) forget(owner types.UID) {
	b.lock.Lock()
	defer b.lock.Unlock()
	delete(b.all, owner)
}
