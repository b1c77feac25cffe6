package containerstop

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Stops runs stops of containers beside the workers, at most one for each Pod. A stop takes as long as the user lets it
// take, so a worker that waited for it could not begin the requests of other Pods. The number of stops is limited by
// the number of Pods on the node.
type Stops struct {
	// mu guards of, which has a running stop, or the result of one that no pass has taken yet, of each Pod.
	running sync.WaitGroup
	mu      sync.Mutex
	of      map[types.NamespacedName]*outcome
}

// outcome is the result of a stop.
type outcome struct {
	ended bool
	err   error
}

// Begin runs stop, unless a stop of the Pod is running, and calls ended after it. ended is called without the lock,
// because it starts a pass that asks for the outcome.
func (s *Stops) Begin(pod types.NamespacedName, stop func() error, ended func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[pod] != nil {
		return
	}
	if s.of == nil {
		s.of = map[types.NamespacedName]*outcome{}
	}
	result := &outcome{}
	s.of[pod] = result
	s.running.Go(func() {
		err := stop()
		s.mu.Lock()
		result.ended, result.err = true, err
		s.mu.Unlock()
		ended()
	})
}

// Outcome returns true if a stop of the Pod is running. It returns the error of a stop that has ended, once: the
// queue then retries with its usual delay.
func (s *Stops) Outcome(pod types.NamespacedName) (busy bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result := s.of[pod]
	if result == nil || !result.ended {
		return result != nil, nil
	}
	delete(s.of, pod)
	return false, result.err
}

// Busy returns true if a stop of the Pod is running. It takes no result.
func (s *Stops) Busy(pod types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	result := s.of[pod]
	return result != nil && !result.ended
}

// Wait returns when no stop is running.
func (s *Stops) Wait() { s.running.Wait() }
