package reconcile

import (
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"
)

// Metrics count reconciles. Their names are those on existing dashboards. The methods of a nil pointer do nothing. All
// controllers of a program share one value.
type Metrics struct {
	total   *metrics.CounterVec
	errors  *metrics.CounterVec
	seconds *metrics.HistogramVec
	active  *metrics.GaugeVec
	workers *metrics.GaugeVec
}

// NewMetrics returns metrics that are not registered yet.
func NewMetrics() *Metrics {
	const stage = metrics.ALPHA
	return &Metrics{
		total: metrics.NewCounterVec(&metrics.CounterOpts{Name: "controller_runtime_reconcile_total",
			Help: "Number of reconciles by result.", StabilityLevel: stage}, []string{"controller", "result"}),
		errors: metrics.NewCounterVec(&metrics.CounterOpts{Name: "controller_runtime_reconcile_errors_total",
			Help: "Number of failed reconciles.", StabilityLevel: stage}, []string{"controller"}),
		seconds: metrics.NewHistogramVec(&metrics.HistogramOpts{Name: "controller_runtime_reconcile_time_seconds",
			// From half a millisecond to about half a minute.
			Help: "Duration of reconciles in seconds.", Buckets: metrics.ExponentialBuckets(0.0005, 4, 9), StabilityLevel: stage},
			[]string{"controller"}),
		active: metrics.NewGaugeVec(&metrics.GaugeOpts{Name: "controller_runtime_active_workers",
			Help: "Number of running reconciles.", StabilityLevel: stage}, []string{"controller"}),
		workers: metrics.NewGaugeVec(&metrics.GaugeOpts{Name: "controller_runtime_max_concurrent_reconciles",
			Help: "Maximum number of concurrent reconciles.", StabilityLevel: stage}, []string{"controller"}),
	}
}

// Register registers the metrics. It returns the first error of register.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	for _, metric := range []metrics.Registerable{m.total, m.errors, m.seconds, m.active, m.workers} {
		if err := register(metric); err != nil {
			return err
		}
	}
	return nil
}

// started records the number of workers of a controller.
func (m *Metrics) started(controller string, workers int) {
	if m != nil {
		m.workers.WithLabelValues(controller).Set(float64(workers))
	}
}

// begin starts the measurement of a reconcile, and returns the function that ends it. It must be called exactly once.
func (m *Metrics) begin(controller string, clock clock.PassiveClock) func(Result, error) {
	if m == nil {
		return func(Result, error) {}
	}
	start := clock.Now()
	m.active.WithLabelValues(controller).Inc()
	return func(result Result, err error) {
		m.active.WithLabelValues(controller).Dec()
		m.seconds.WithLabelValues(controller).Observe(float64(clock.Since(start)) / float64(time.Second))
		m.total.WithLabelValues(controller, resultLabel(result, err)).Inc()
		if err != nil && !passes(err) {
			m.errors.WithLabelValues(controller).Inc()
		}
	}
}

// resultLabel returns the value of the label result, in the words of the dashboards. A failure of normal operation is no error there:
// an alert about errors would fire in a cluster where namespaces come and go.
func resultLabel(result Result, err error) string {
	switch {
	case err != nil && passes(err):
		return "requeue"
	case err != nil:
		return "error"
	case result.RequeueAfter > 0:
		return "requeue_after"
	default:
		return "success"
	}
}
