package containerrecreaterequest

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// absences holds since when the node of a request has no working agent. A process that restarts counts from its start, so a restart
// can only make a request wait longer.
type absences struct {
	// mu guards since, because several workers use it.
	mu    sync.Mutex
	since map[types.UID]time.Time
}

// note records whether the agent is absent now, and returns since when, or nil. An agent that works again ends the absence, so two
// short ones do not add up.
func (a *absences) note(request types.UID, absent bool, now time.Time) *time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !absent {
		delete(a.since, request)
		return nil
	}
	since, found := a.since[request]
	if !found {
		if a.since == nil {
			a.since = map[types.UID]time.Time{}
		}
		since = now
		a.since[request] = now
	}
	return &since
}

// absentSince returns since when no agent works on the request's node, or nil. An error comes from a cache.
func (r *Reconciler) absentSince(request *v1beta1.ContainerRecreateRequest) (*time.Time, error) {
	absent, err := r.agents.Absent(request.Labels[pub.ContainerRecreateRequestNodeNameKey])
	if err != nil {
		return nil, err
	}
	return r.absences.note(request.UID, absent, r.clock.Now()), nil
}

// forget drops what is kept for a request.
func (r *Reconciler) forget(request *v1beta1.ContainerRecreateRequest) {
	r.absences.note(request.UID, false, time.Time{})
}
