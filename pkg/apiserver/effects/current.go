package effects

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/workload/groupcommit"
)

const (
	// readTimeout limits one read of the store.
	readTimeout = 500 * time.Millisecond
	// readPause is how long the store is not read after a read that failed, so that an outage of etcd delays few Pods.
	readPause = time.Second
	// catchUpTime limits the wait for the cache. It is shorter than the time that kube-apiserver gives a review.
	catchUpTime = 2 * time.Second
	// readPeriod is the time between two reads while the cache is behind and does not change.
	readPeriod = 20 * time.Millisecond
)

var errPaused = errors.New("a read has failed just before")

// Stored identifies a state of the SidecarSets in the store. Two states with the same newest version and count are equal: a write makes a
// newer version, and a deletion of an object that existed makes the count smaller.
type Stored struct {
	// Newest is the highest resource version of a SidecarSet, or zero without any, and Count is their number.
	Newest, Count int64
	// Revision is that of the store at the read.
	Revision int64
}

// Current waits until the cache of SidecarSets is as new as the store. With several servers, another one can have answered a write that
// this cache does not show yet. All fields above lock are set once by NewCurrent.
type Current struct {
	sets cache.Indexer
	// changed returns a channel that is closed at the next change of the cache.
	changed func() <-chan struct{}
	// reads makes requests that come during a read share the next one. A read that began before a request says nothing to it.
	reads *groupcommit.Writer[string, Stored]
	clock clock.PassiveClock

	// lock guards failed, the time of the last read that failed.
	lock   sync.Mutex
	failed time.Time
}

// NewCurrent returns a Current for the cache of SidecarSets of the Effects. read reads the store.
func NewCurrent(e *Effects, read func(context.Context) (Stored, error), clock clock.PassiveClock) *Current {
	c := &Current{sets: e.kinds[sidecarSets].informer.GetIndexer(), changed: e.next, clock: clock}
	c.reads = groupcommit.New(func(ctx context.Context, _ string, tell func(Stored) error) error {
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		stored, err := read(ctx)
		if err != nil {
			return err
		}
		return tell(stored)
	})
	return c
}

// Await returns when the cache shows all writes of SidecarSets that were answered before the call, by any server. It returns an error if
// the cache is behind for too long. A store that does not answer is no error: no write is answered meanwhile either.
func (c *Current) Await(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	var first Stored
	for read := 0; ; read++ {
		changed := c.changed()
		stored, err := c.stored(waiting)
		switch {
		case err != nil && waiting.Err() == nil:
			klog.FromContext(ctx).V(2).Info("The store does not answer, so new Pods get what the cache shows", "err", err)
			return nil
		case err == nil && read == 0:
			first = stored
		}
		if err == nil && c.shows(stored, first) {
			return nil
		}
		timer := time.NewTimer(readPeriod)
		select {
		case <-changed:
		case <-timer.C:
		case <-waiting.Done():
			timer.Stop()
			return apierrors.NewServiceUnavailable("the cache of SidecarSets is behind the store; try again in a few seconds")
		}
		timer.Stop()
	}
}

// stored reads the store, unless a read has failed just before.
func (c *Current) stored(ctx context.Context) (stored Stored, err error) {
	c.lock.Lock()
	paused := c.clock.Since(c.failed) < readPause
	c.lock.Unlock()
	if paused {
		return Stored{}, errPaused
	}
	err = c.reads.Do(ctx, "", func(read Stored) error {
		stored = read
		return nil
	})
	if err != nil && ctx.Err() == nil {
		c.lock.Lock()
		c.failed = c.clock.Now()
		c.lock.Unlock()
	}
	return stored, err
}

// shows reports whether the cache has at least the first state. It may be ahead of the store as it was read last.
func (c *Current) shows(last, first Stored) bool {
	items := c.sets.List()
	newest := int64(0)
	for _, item := range items {
		if object, ok := item.(metav1.Object); ok {
			// The store of this project has decimal versions.
			version, _ := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
			newest = max(newest, version)
		}
	}
	return newest > first.Revision || newest == last.Newest && int64(len(items)) == last.Count
}
