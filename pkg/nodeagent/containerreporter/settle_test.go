package containerreporter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/nodeagent/cluster"
)

// look is one pass over a Pod. It holds the outdated instances, the time since the previous pass, the instances to
// stop and the time until the next pass.
type look struct {
	after    time.Duration
	outdated []*instance
	due      []string
	wait     time.Duration
}

func TestSettled(t *testing.T) {
	in := func(name, id string, expected uint64) *instance {
		return &instance{name: name, id: id, expected: expected}
	}
	tests := map[string][]look{
		"the kubelet is given time to learn of the change": {
			{outdated: []*instance{in("main", "A", 2)}, wait: 3 * time.Second},
			{after: 2 * time.Second, outdated: []*instance{in("main", "A", 2)}, wait: time.Second},
			{after: time.Second, outdated: []*instance{in("main", "A", 2)}, due: []string{"main"}},
		},
		"another change starts again": {
			{outdated: []*instance{in("main", "A", 2)}, wait: 3 * time.Second},
			{after: 2 * time.Second, outdated: []*instance{in("main", "A", 3)}, wait: 3 * time.Second},
			{after: 3 * time.Second, outdated: []*instance{in("main", "A", 3)}, due: []string{"main"}},
		},
		"a change that is taken back ends nothing": {
			{outdated: []*instance{in("main", "A", 2)}, wait: 3 * time.Second},
			{after: 3 * time.Second},
			{after: time.Second, outdated: []*instance{in("main", "A", 2)}, wait: 3 * time.Second},
		},
		"a kubelet that was late is given twice as long": {
			{outdated: []*instance{in("main", "A", 2)}, wait: 3 * time.Second},
			{after: 3 * time.Second, outdated: []*instance{in("main", "A", 2)}, due: []string{"main"}},
			{after: time.Second, outdated: []*instance{in("main", "B", 2)}, wait: 6 * time.Second},
			{after: 6 * time.Second, outdated: []*instance{in("main", "B", 2)}, due: []string{"main"}},
			{after: time.Second, outdated: []*instance{in("main", "C", 2)}, wait: 12 * time.Second},
		},
		"each container by itself": {
			{outdated: []*instance{in("main", "A", 2)}, wait: 3 * time.Second},
			{after: 2 * time.Second, outdated: []*instance{in("main", "A", 2), in("side", "S", 2)}, wait: time.Second},
			{after: time.Second, outdated: []*instance{in("main", "A", 2), in("side", "S", 2)}, due: []string{"main"}, wait: 2 * time.Second},
		},
	}
	for name, looks := range tests {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			c := &Controller{config: Config{Clock: now}, written: cluster.NewWrites(now), settling: map[types.NamespacedName]map[string]settling{}}
			key := types.NamespacedName{Namespace: "ns", Name: "p"}
			for i, look := range looks {
				now.Step(look.after)
				due, wait := c.settled(key, look.outdated)
				var names []string
				for _, in := range due {
					names = append(names, in.name)
				}
				assert.Equal(t, look.due, names, "pass %d", i)
				assert.Equal(t, look.wait, wait, "pass %d", i)
			}
			c.forget(&knownPod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
			assert.Empty(t, c.settling)
		})
	}
}

func TestLateKubeletDoesNotWaitForever(t *testing.T) {
	assert.Equal(t, longestSettle, (&settling{late: 100}).period())
}
