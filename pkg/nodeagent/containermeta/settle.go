package containermeta

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// settlePeriod is for how long the kubelet is given to learn of metadata that the agent has learnt of. Both watch, each by
	// itself, and nothing that the kubelet writes says which labels it has seen: they change no generation. If the container
	// ended before the kubelet knew, its next instance would get the old values, and would have to be ended too.
	settlePeriod = 3 * time.Second
	// longestSettle is for a kubelet that was late several times.
	longestSettle = 5 * time.Minute
)

// settling is an instance that waits for its end.
type settling struct {
	id string
	// expected is the hash that its successor is to have.
	expected uint64
	since    time.Time
	// late is how many instances before it the kubelet started with old metadata.
	late int
}

func (s *settling) period(shortest time.Duration) time.Duration {
	period := shortest
	for range s.late {
		period = min(2*period, longestSettle)
	}
	return period
}

// settled returns those of the outdated instances whose metadata has not changed for long enough, and how long to wait for the
// next one, or zero.
func (c *Controller) settled(key types.NamespacedName, outdated []*instance) (due []*instance, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.config.Clock.Now()
	before := c.settling[key]
	if len(outdated) == 0 {
		delete(c.settling, key)
		return nil, 0
	}
	c.settling[key] = make(map[string]settling, len(outdated))
	for _, in := range outdated {
		s, found := before[in.name]
		switch {
		case !found || s.expected != in.expected:
			s = settling{id: in.id, expected: in.expected, since: now}
		case s.id != in.id:
			s = settling{id: in.id, expected: in.expected, since: now, late: s.late + 1}
		}
		c.settling[key][in.name] = s
		switch left := s.period(c.config.Settle) - now.Sub(s.since); {
		case left <= 0:
			due = append(due, in)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	return due, wait
}
