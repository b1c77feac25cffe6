package podunavailablebudget

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// mostUsers limits how many users have their own label value. Clients choose the names, and each name is a series
// that is never removed.
const mostUsers = 1000

var (
	refusals = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "pod_unavailable_budget", Help: "Number of Pod disruptions refused by a PodUnavailableBudget.", StabilityLevel: metrics.ALPHA,
	}, []string{"kind_namespace_name", "username"})
	users = &names{known: map[string]bool{}}
)

// RegisterMetrics registers the counter. Only the first call has an effect.
var RegisterMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(refusals) })

func refused(workload, user string) { refusals.WithLabelValues(workload, users.label(user)).Inc() }

// names holds the users that have their own label value.
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
