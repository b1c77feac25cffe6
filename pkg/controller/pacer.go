package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pacer limits how often something is done for a key. It may be used concurrently.
type Pacer struct {
	// every is the minimum time between two times. It is not changed.
	every time.Duration
	// lock guards last.
	lock sync.Mutex
	last map[types.NamespacedName]time.Time
}

// NewPacer returns a Pacer with a minimum time between two times for a key.
func NewPacer(every time.Duration) *Pacer {
	return &Pacer{every: every, last: map[types.NamespacedName]time.Time{}}
}

// Wait returns how long the next time must wait. Zero means that it is due; Wait then records it.
func (p *Pacer) Wait(key types.NamespacedName, now time.Time) time.Duration {
	p.lock.Lock()
	defer p.lock.Unlock()
	if last, found := p.last[key]; found {
		if next := last.Add(p.every); now.Before(next) {
			return next.Sub(now)
		}
	}
	p.last[key] = now
	return 0
}

// Forget drops what is kept for a key.
func (p *Pacer) Forget(key types.NamespacedName) {
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.last, key)
}
