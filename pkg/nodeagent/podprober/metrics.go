package podprober

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"kruise.io/kruise/pkg/nodeagent/handler"
)

// tolerance is the part of its period by which a probe may begin late without counting as late.
const tolerance = 10

var (
	probes = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace:      "kruise_node_agent",
		Name:           "probe_total",
		Help:           "Number of probes that ran, by result.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})
	lateProbes = metrics.NewCounter(&metrics.CounterOpts{
		Namespace:      "kruise_node_agent",
		Name:           "probe_late_total",
		Help:           "Number of probes that began more than a tenth of their period after they were due.",
		StabilityLevel: metrics.ALPHA,
	})
)

// RegisterMetrics registers the metrics of this package. Only the first call has an effect.
var RegisterMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(probes, lateProbes) })

// countLate counts a probe that begins late.
func countLate(late, period time.Duration) {
	if late > period/tolerance {
		lateProbes.Inc()
	}
}

// label returns the value of the label result.
func label(outcome handler.Outcome) string {
	switch outcome {
	case handler.Succeeded:
		return "succeeded"
	case handler.Failed:
		return "failed"
	default:
		return "unknown"
	}
}
