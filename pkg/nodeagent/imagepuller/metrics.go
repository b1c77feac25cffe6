package imagepuller

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Values of the label result.
const (
	succeeded = "succeeded"
	failed    = "failed"
)

var (
	pullsEnded = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace:      "kruise_node_agent",
		Name:           "image_pull_total",
		Help:           "Number of image pulls that ended, by result. All attempts for one version of a tag are one pull.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})
	pullSeconds = metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace:      "kruise_node_agent",
		Name:           "image_pull_duration_seconds",
		Help:           "Time from the request of a pull until its end, in seconds. It includes waiting for a free slot and all attempts.",
		Buckets:        metrics.ExponentialBuckets(0.25, 4, 8),
		StabilityLevel: metrics.ALPHA,
	})
	pullsActive = metrics.NewGauge(&metrics.GaugeOpts{
		Namespace:      "kruise_node_agent",
		Name:           "image_pull_active",
		Help:           "Number of image pulls in progress. Pulls that wait for a free slot are not counted.",
		StabilityLevel: metrics.ALPHA,
	})
)

// RegisterMetrics registers the metrics of this package. Only the first call has an effect.
var RegisterMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(pullsEnded, pullSeconds, pullsActive)
	pullsEnded.WithLabelValues(succeeded).Add(0)
	pullsEnded.WithLabelValues(failed).Add(0)
})

// countPull counts a pull that ended.
func countPull(took time.Duration, err error) {
	result := succeeded
	if err != nil {
		result = failed
	}
	pullsEnded.WithLabelValues(result).Inc()
	pullSeconds.Observe(took.Seconds())
}
