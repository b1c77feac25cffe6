package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Rewordings limits how often the new messages of lasting failures are written, for kinds whose conditions have no time of their last
// update. The zero value is ready to use. After a restart of the controller, the first new message is written at once.
type Rewordings struct {
	lock sync.Mutex
	// at has the time of the last pass that wrote new messages, by the UID of the object.
	at map[types.UID]time.Time
}

// Due reports whether the pass of an object at the time now may write the new message of a condition whose status has not changed
// since the given time. It records the pass if so. All conditions of one pass are due together. A time in the future comes from a
// clock that was set back, and does not hold up a message.
func (r *Rewordings) Due(object types.UID, since, now time.Time) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	last, written := r.at[object]
	if written && last.Equal(now) {
		return true
	}
	if since.After(last) {
		last = since
	}
	if age := now.Sub(last); age >= 0 && age < RewordAfter {
		return false
	}
	if r.at == nil {
		r.at = map[types.UID]time.Time{}
	}
	r.at[object] = now
	return true
}

// Forget drops what is kept for a deleted object.
func (r *Rewordings) Forget(object types.UID) {
	r.lock.Lock()
	defer r.lock.Unlock()
	delete(r.at, object)
}
