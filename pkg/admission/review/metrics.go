package review

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The names and labels are those of webhooks on existing dashboards. The label webhook is the name of the route.
var (
	reviewsAnswered = metrics.NewCounterVec(&metrics.CounterOpts{
		Name:           "controller_runtime_webhook_requests_total",
		Help:           "Number of admission reviews, by HTTP status code. A refusal is an answer with code 200.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"webhook", "code"})
	reviewSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Name:           "controller_runtime_webhook_latency_seconds",
		Help:           "Duration of admission reviews in seconds.",
		Buckets:        metrics.ExponentialBuckets(0.001, 3, 9),
		StabilityLevel: metrics.ALPHA,
	}, []string{"webhook"})
	reviewsInFlight = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "controller_runtime_webhook_requests_in_flight",
		Help:           "Number of admission reviews that are being answered.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"webhook"})
)

// registerMetrics is called by Storage. Only the first call has an effect.
var registerMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(reviewsAnswered, reviewSeconds, reviewsInFlight) })

// measure starts the measurement of a review, and returns the function that ends it. The caller passes the error of
// Create, from which the status code follows.
func (r *reviewREST) measure() func(error) {
	start := time.Now()
	reviewsInFlight.WithLabelValues(r.route.Name).Inc()
	return func(err error) {
		reviewsInFlight.WithLabelValues(r.route.Name).Dec()
		reviewSeconds.WithLabelValues(r.route.Name).Observe(time.Since(start).Seconds())
		reviewsAnswered.WithLabelValues(r.route.Name, strconv.Itoa(codeOf(err))).Inc()
	}
}

// codeOf returns the HTTP status code of an answer. An error without a status becomes 500, as in the generic server.
func codeOf(err error) int {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &status):
		return int(status.Status().Code)
	default:
		return http.StatusInternalServerError
	}
}
