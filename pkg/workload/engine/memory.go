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
	// attempted are the IDs of instances whose creation may still arrive. The next creations use the same names, so one that arrives
	// late is no Pod too many.
	attempted []string
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
	if len(kept.sightings) == 0 && len(kept.attempted) == 0 {
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
