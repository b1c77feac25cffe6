package resourcedistribution

import (
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// conflicts keeps for a short time which objects of others are in the way, if they are not watched. It is only a cache: after a
// restart, each conflict costs one more request.
type conflicts struct {
	// lock guards known, also the maps in it.
	lock  sync.Mutex
	known map[types.UID]*known
}

// known are the conflicts of one generation of a ResourceDistribution, by namespace. A change of the spec makes them invalid.
type known struct {
	generation int64
	namespaces map[place]conflict
}

// conflict is a failure and when it was seen.
type conflict struct {
	*failure
	at time.Time
}

// recent returns the conflict in a namespace if it was looked at within conflictRest, or nil.
func (c *conflicts) recent(d *v1beta1.ResourceDistribution, namespace place, now time.Time) *failure {
	c.lock.Lock()
	defer c.lock.Unlock()
	k := c.known[d.UID]
	if k == nil || k.generation != d.Generation {
		return nil
	}
	if found, ok := k.namespaces[namespace]; ok && now.Sub(found.at) < conflictRest {
		return found.failure
	}
	return nil
}

// note records the result of a look. failed may be nil, or another failure than a conflict; both end a known conflict. A conflict with a
// copy is not recorded: the copy can be gone before the next pass, and no later event comes.
func (c *conflicts) note(d *v1beta1.ResourceDistribution, namespace place, failed *failure, now time.Time) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if k := c.known[d.UID]; k == nil || k.generation != d.Generation {
		c.known[d.UID] = &known{d.Generation, map[place]conflict{}}
	}
	if failed != nil && unwatched(failed.err) {
		c.known[d.UID].namespaces[namespace] = conflict{failed, now}
	} else {
		delete(c.known[d.UID].namespaces, namespace)
	}
}

// unwatched reports whether an error is a conflict with an object that is not watched.
func unwatched(err error) bool {
	conflict, is := errors.AsType[conflictError](err)
	return is && !conflict.watched
}

// forget drops the conflicts of a deleted ResourceDistribution.
func (c *conflicts) forget(uid types.UID) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.known, uid)
}
