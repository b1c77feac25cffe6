package consistency

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
)

// Store is the cache of one resource.
type Store interface {
	// LastStoreSyncResourceVersion is the version that the store has reached, or empty when it does not say.
	LastStoreSyncResourceVersion() string
	GetByKey(key string) (item any, exists bool, err error)
}

// Guard remembers writes until the caches show them.
type Guard struct {
	timeout time.Duration
	clock   clock.PassiveClock
	stores  map[schema.GroupResource]Store

	lock sync.Mutex
	// waitOn keeps what is not seen in time.
	waitOn  bool
	records map[types.UID]*record
}

// record is what one owner waits for.
type record struct {
	since   time.Time
	wrote   map[schema.GroupResource]string
	deleted map[schema.GroupResource]map[string]types.UID
}

// Pending is what an owner still waits for.
type Pending struct {
	Resource schema.GroupResource
	// Wrote and Reached are versions of that resource, empty when a deletion is waited for.
	Wrote, Reached string
	// Remaining is how long the guard goes on waiting.
	Remaining time.Duration
}

// New makes a guard over the caches that the controller reads.
func New(timeout time.Duration, clock clock.PassiveClock, stores map[schema.GroupResource]Store) *Guard {
	return &Guard{timeout: timeout, clock: clock, stores: stores, records: map[types.UID]*record{}}
}

// WaitOn makes the guard wait for as long as it takes. It still says each time that the timeout is over once more.
func (g *Guard) WaitOn() { g.waitOn = true }

// Wrote records the version that a write of the owner's reconcile returned.
func (g *Guard) Wrote(owner types.UID, resource schema.GroupResource, version string) {
	if version == "" {
		return
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	r := g.record(owner)
	if newer, err := resourceversion.CompareResourceVersion(version, r.wrote[resource]); err != nil || newer > 0 {
		r.wrote[resource] = version
	}
}

// Deleted records an object that the owner's reconcile deleted. It is seen as soon as its deletion has begun.
func (g *Guard) Deleted(owner types.UID, resource schema.GroupResource, object metav1.Object) {
	g.lock.Lock()
	defer g.lock.Unlock()
	r := g.record(owner)
	if r.deleted[resource] == nil {
		r.deleted[resource] = map[string]types.UID{}
	}
	r.deleted[resource][object.GetNamespace()+"/"+object.GetName()] = object.GetUID()
}

func (g *Guard) record(owner types.UID) *record {
	r := g.records[owner]
	if r == nil {
		r = &record{
			since: g.clock.Now(), wrote: map[schema.GroupResource]string{}, deleted: map[schema.GroupResource]map[string]types.UID{},
		}
		g.records[owner] = r
	}
	return r
}

// Ready returns nil when the caches show all that was recorded for the owner. Otherwise it returns what is missing, with
// nothing remaining once the timeout is over; the record is dropped then, unless the guard waits on.
func (g *Guard) Ready(owner types.UID) *Pending {
	g.lock.Lock()
	defer g.lock.Unlock()
	r := g.records[owner]
	if r == nil {
		return nil
	}
	pending := g.pending(r)
	if pending == nil {
		delete(g.records, owner)
		return nil
	}
	pending.Remaining = max(0, g.timeout-g.clock.Since(r.since))
	switch {
	case pending.Remaining > 0:
	case g.waitOn:
		r.since = g.clock.Now()
	default:
		delete(g.records, owner)
	}
	return pending
}

func (g *Guard) pending(r *record) *Pending {
	for resource, wrote := range r.wrote {
		store := g.stores[resource]
		if store == nil {
			continue
		}
		reached := store.LastStoreSyncResourceVersion()
		if reached == "" {
			continue
		}
		if newer, err := resourceversion.CompareResourceVersion(wrote, reached); err == nil && newer > 0 {
			return &Pending{Resource: resource, Wrote: wrote, Reached: reached}
		}
	}
	for resource, deleted := range r.deleted {
		if store := g.stores[resource]; store != nil && stillThere(store, deleted) {
			return &Pending{Resource: resource}
		}
	}
	return nil
}

func stillThere(store Store, deleted map[string]types.UID) bool {
	for key, uid := range deleted {
		item, exists, err := store.GetByKey(key)
		if err != nil || !exists {
			continue
		}
		if object, ok := item.(metav1.Object); ok && object.GetUID() == uid && object.GetDeletionTimestamp() == nil {
			return true
		}
	}
	return false
}

// Forget drops what was recorded for an owner that is gone.
func (g *Guard) Forget(owner types.UID) {
	g.lock.Lock()
	defer g.lock.Unlock()
	delete(g.records, owner)
}
