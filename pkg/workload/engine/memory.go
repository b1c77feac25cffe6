package engine

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// sighting is what was seen of a Pod without a break, and since when. what is a text that package inplace makes and compares.
type sighting struct {
	what  string
	since time.Time
}

// memory is what one pass hands to the next. It is best effort: a controller that restarts begins without it. Then updates that
// only time decides take longer, and a creation that arrives late can add a Pod, which the next pass deletes.
type memory struct {
	// sightings are of Pods whose update can only be judged complete by elapsed time, by Pod UID. Times are by the clock of this
	// process.
	sightings map[types.UID]sighting
	// attempted are the IDs of instances whose creation may still arrive, with the time of the attempt. The next creations use the
	// same names, so a creation that arrives late adds no Pod. Their claims are kept.
	attempted map[string]time.Time
	// unresolved are the names of Pods for which both a write and the read after it got no answer.
	unresolved []string
	// places are the last Pods on nodes, by the name of the node.
	places map[string]placed
	// strangers are the Pods that an event has named.
	strangers map[types.UID]bool
	refusals  refusals
	// generation is that of the workload in the last pass, if that pass stopped early, or 0.
	generation int64
}

// arrivesWithin is how long a request can take to arrive. Kubernetes ends requests after one minute.
const arrivesWithin = 65 * time.Second

// mayArrive reports whether the creation of an instance may still arrive.
func (m *memory) mayArrive(id string, now time.Time) bool { return m.arrivesFor(id, now) > 0 }

// arrivesFor returns how long the creation of an instance may still take to arrive, or zero.
func (m *memory) arrivesFor(id string, now time.Time) time.Duration {
	if attempt, found := m.attempted[id]; found {
		return max(0, arrivesWithin-now.Sub(attempt))
	}
	return 0
}

// memories holds the memory of every workload, by UID.
type memories struct {
	lock sync.Mutex
	all  map[types.UID]memory
}

// of returns the memory of a workload. Only one pass over a workload runs at a time, so its maps need no lock.
func (m *memories) of(owner types.UID) memory {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.all[owner]
}

// keep stores the memory of a workload. An empty one is removed.
func (m *memories) keep(owner types.UID, kept memory) {
	m.lock.Lock()
	defer m.lock.Unlock()
	entries := len(kept.sightings) + len(kept.attempted) + len(kept.unresolved) + len(kept.places) + len(kept.strangers)
	if entries == 0 && kept.refusals.since.IsZero() && kept.generation == 0 {
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
