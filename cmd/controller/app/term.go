package app

import "sync"

// term is the period in which this replica leads. There is at most one. The library of the election starts the work
// in a goroutine of its own and does not wait for it, so term does.
type term struct {
	lock  sync.Mutex
	ended bool
	// over is closed when the work has ended. It is nil if the work never began.
	over chan struct{}
}

// run calls f, unless end has been called before. It is called at most once.
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
