package engine

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// sighting is what was seen of a Pod since a time, without a break.
type sighting struct {
	what  string
	since time.Time
}

// memory is what one pass leaves to the next. It is a help and no more: a controller that restarts has none.
type memory struct {
	// sightings are of Pods whose update only time will show to be complete, by UID. They are of this process and its clock.
	sightings map[types.UID]sighting
	// attempted are the IDs of instances whose creation may still arrive, and when that was tried. The next creations use the same
	// names, so one that arrives late is no Pod too many, and their claims are kept.
	attempted map[string]time.Time
	// unresolved are the names of Pods with a write of which not even a later look told what became of it.
	unresolved []string
}

// arrivesWithin is how long a request may be under way. Kubernetes ends requests after a minute.
const arrivesWithin = 65 * time.Second

// mayArrive tells whether the creation of an instance may still arrive.
func (m *memory) mayArrive(id string, now time.Time) bool { return m.arrivesFor(id, now) > 0 }

// arrivesFor is how long the creation of an instance may still arrive.
func (m *memory) arrivesFor(id string, now time.Time) time.Duration {
	if tried, found := m.attempted[id]; found {
		return max(0, arrivesWithin-now.Sub(tried))
	}
	return 0
}

// memories are those of all workloads by UID.
type memories struct {
	lock sync.Mutex
	all  map[types.UID]memory
}

func (m *memories) of(owner types.UID) memory {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.all[owner]
}

func (m *memories) keep(owner types.UID, kept memory) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if len(kept.sightings) == 0 && len(kept.attempted)+len(kept.unresolved) == 0 {
		delete(m.all, owner)
		return
	}
	if m.all == nil {
		m.all = map[types.UID]memory{}
	}
	m.all[owner] = kept
}

func (m *memories) forget(owner types.UID) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.all, owner)
}
