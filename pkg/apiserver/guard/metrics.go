package guard

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The series of all reasons exist from the start, so an alert can compare with zero.
var (
	closedMetric = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "kruise_store_closed", StabilityLevel: metrics.ALPHA,
		Help: "1 for the reason why the store is closed (Wiped, Replaced, RolledBack, Empty or Incomplete), 0 for the others.",
	}, []string{"reason"})
	generationMetric = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "kruise_store_generation", StabilityLevel: metrics.ALPHA,
		Help: "Generation of the store. It advances every 10 seconds while there are writes.",
	})
)

// registerMetrics is called by New. Only the first call has an effect.
var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(closedMetric, generationMetric)
	showReason("")
})

// showReason sets the gauge of one reason and clears the others. An empty reason clears all.
func showReason(reason Reason) {
	for _, known := range []Reason{Wiped, Replaced, RolledBack, Empty, Incomplete} {
		value := 0.0
		if known == reason {
			value = 1
		}
		closedMetric.WithLabelValues(string(known)).Set(value)
	}
}

// showGeneration publishes the generation of the open store.
func showGeneration(generation int64) { generationMetric.Set(float64(generation)) }
