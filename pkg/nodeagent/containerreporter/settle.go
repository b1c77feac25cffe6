package containerreporter

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// settlePeriod gives the kubelet time to see metadata that the agent has already seen. Both watch the Pod
	// independently. A metadata change does not increase the generation, so the kubelet does not report which labels
	// it has seen. If the container stopped too early, the kubelet would start the next instance with the old values,
	// and the agent would have to stop that one too.
	settlePeriod = 3 * time.Second
	// longestSettle caps the period, which doubles each time the kubelet used old metadata.
	longestSettle = 5 * time.Minute
)

// settling is an instance that waits to be stopped.
type settling struct {
	// id is the container ID of the instance that waits.
	id string
	// expected is the hash that the next instance should have.
	expected uint64
	// since is when this pair of instance and hash was seen first.
	since time.Time
	// late counts the earlier instances that the kubelet started with old metadata.
	late int
}

// period returns how long the metadata must stay unchanged. It doubles with each late instance, up to longestSettle.
func (s *settling) period() time.Duration {
	period := settlePeriod
	for range s.late {
		period = min(2*period, longestSettle)
	}
	return period
}

// settled returns the outdated instances whose metadata has not changed for the settle period. wait is the time until
// the next instance is due, or zero if none waits. It keeps only the instances that are outdated now, so one that was
// replaced in time is forgotten.
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
		// The next instance differs in nothing that the kubelet would have to see first.
		if in.restarts {
			due = append(due, in)
			continue
		}
		s, found := before[in.name]
		switch {
		// The metadata changed again, or the instance is new here: the period starts again.
		case !found || s.expected != in.expected:
			s = settling{id: in.id, expected: in.expected, since: now}
		// The kubelet has started another instance with the old values. The next one waits longer.
		case s.id != in.id:
			s = settling{id: in.id, expected: in.expected, since: now, late: s.late + 1}
		}
		c.settling[key][in.name] = s
		switch left := s.period() - now.Sub(s.since); {
		case left <= 0:
			due = append(due, in)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	return due, wait
}
