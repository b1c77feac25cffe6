package registrytest

import (
	"net/http"
	"sync"
)

// Gate blocks requests until it is opened. A test uses it to look at a pull that is under way.
type Gate struct {
	// Reached is closed when the first request waits.
	Reached chan struct{}
	opened  chan struct{}
	reach   func()
}

// NewGate creates a closed gate.
func NewGate() *Gate {
	g := &Gate{Reached: make(chan struct{}), opened: make(chan struct{})}
	g.reach = sync.OnceFunc(func() { close(g.Reached) })
	return g
}

// Open lets all waiting and future requests pass. Call it once.
func (g *Gate) Open() { close(g.opened) }

// Guard is a Behaviour that puts a registry behind the gate.
func (g *Gate) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.reach()
		select {
		case <-g.opened:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
}
