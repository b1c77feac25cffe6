package podunavailablebudget

import (
	"sync"

	"k8s.io/component-base/metrics/legacyregistry"

	"kruise.io/kruise/pkg/workload/refusals"
)

// refused counts refusals by workload and user. Dry runs do not count, see trace.
var refused = refusals.NewCounter(
	"pod_unavailable_budget", "Disruptions of Pods that a PodUnavailableBudget refused.", "kind_namespace_name")

// RegisterMetrics registers the counter. Only the first call has an effect.
var RegisterMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(refused.CounterVec) })
