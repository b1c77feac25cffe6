package podunavailablebudget

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// mostUsers is how many users have a label value of their own: names come from clients, and each is a series for ever.
const mostUsers = 1000

var (
	refusals = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "pod_unavailable_budget", Help: "Disruptions of Pods that a PodUnavailableBudget refused.", StabilityLevel: metrics.ALPHA,
	}, []string{"kind_namespace_name", "username"})
	users = &names{known: map[string]bool{}}
)

// RegisterMetrics adds the counter to those of the process.
var RegisterMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(refusals) })

func refused(workload, user string) { refusals.WithLabelValues(workload, users.label(user)).Inc() }

// names are the first users that were refused.
type names struct {
	lock  sync.Mutex
	known map[string]bool
}

func (n *names) label(user string) string {
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.known[user] {
		return user
	}
	if len(n.known) >= mostUsers {
		return "other"
	}
	n.known[user] = true
	return user
}
