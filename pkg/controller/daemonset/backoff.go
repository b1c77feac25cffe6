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
	firstBackoff   = time.Second
	longestBackoff = 15 * time.Minute
)

// backoff delays the deletion of failed Pods, so that a Pod that a node rejects again and again is not created in a hot loop. The
// delays of a node start again for another generation of the DaemonSet.
type backoff struct {
	clock clock.PassiveClock
	lock  sync.Mutex
	all   map[types.UID]map[string]window
}

// window is the time after the deletion of a failed Pod in which no other one of the node is deleted.
type window struct {
	opened time.Time
	length time.Duration
}

func newBackoff(c clock.PassiveClock) *backoff {
	return &backoff{clock: c, all: map[types.UID]map[string]window{}}
}

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

// opened records the deletion of failed Pods on nodes. Windows that ended long ago are dropped.
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
		if now.Sub(w.opened) > 2*longestBackoff {
			delete(windows, key)
		}
	}
	for _, node := range nodes {
		key, length := backoffKey(set, node), firstBackoff
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
