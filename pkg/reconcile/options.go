package reconcile

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Options are those of one controller. The zero value is usable.
type Options struct {
	// Workers is how many keys are worked on at once; 3 when zero.
	Workers int
	// BaseDelay doubles with each failure of a key up to MaxDelay.
	BaseDelay, MaxDelay time.Duration
	// QPS and BucketSize bound the retries of all keys together.
	QPS        float64
	BucketSize int
	// Informers are those that the controller reads, watched or not: Run waits for them before the first reconcile. May be nil.
	Informers func() []cache.InformerSynced
	// Metrics may be nil.
	Metrics *Metrics
	// Clock is the real one when nil.
	Clock clock.WithTicker
}

const (
	defaultWorkers    = 3
	defaultBaseDelay  = 5 * time.Millisecond
	defaultMaxDelay   = 1000 * time.Second
	defaultQPS        = 10
	defaultBucketSize = 100
)

func (o Options) workers() int { return orDefault(o.Workers, defaultWorkers) }

func (o Options) clock() clock.WithTicker {
	if o.Clock == nil {
		return clock.RealClock{}
	}
	return o.Clock
}

func (o Options) rateLimiter() workqueue.TypedRateLimiter[types.NamespacedName] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](
			orDefault(o.BaseDelay, defaultBaseDelay), orDefault(o.MaxDelay, defaultMaxDelay)),
		&workqueue.TypedBucketRateLimiter[types.NamespacedName]{
			Limiter: rate.NewLimiter(rate.Limit(orDefault(o.QPS, defaultQPS)), orDefault(o.BucketSize, defaultBucketSize)),
		},
	)
}

func orDefault[T int | float64 | time.Duration](value, fallback T) T {
	if value > 0 {
		return value
	}
	return fallback
}
