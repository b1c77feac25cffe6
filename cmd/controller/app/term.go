package app

import "sync"

// term is the period in which this replica leads. There is at most one.
type term struct {
	lock  sync.Mutex
	ended bool
	over  chan struct{}
}

// run calls f, unless end has been called before.
func (t *term) run(f func()) {
	t.lock.Lock()
	if t.ended {
		t.lock.Unlock()
		return
	}
	t.over = make(chan struct{})
	t.lock.Unlock()
	defer close(t.over)
	f()
}

// end waits until f has returned if it was called, and prevents later calls.
func (t *term) end() {
	t.lock.Lock()
	t.ended = true
	over := t.over
	t.lock.Unlock()
	if over != nil {
		<-over
	}
}
