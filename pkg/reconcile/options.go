package reconcile

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Options are the options of one controller. The zero value is usable.
type Options struct {
	// Workers is the number of keys that are reconciled concurrently. Zero means 3.
	Workers int
	// BaseDelay is the first retry delay of a key. It doubles with each retry that fails, up to MaxDelay.
	BaseDelay, MaxDelay time.Duration
	// QPS and BucketSize limit the retries of all keys together. QPS is in retries per second.
	QPS        float64
	BucketSize int
	// Informers returns checks for the informers that the controller reads, watched or not. Run waits for them before the first
	// reconcile. It may be nil.
	Informers func() []cache.InformerSynced
	// Current returns when the caches of these informers show what the servers had when Run was called, or with an error when the context
	// ends. Run waits for it after Informers, because a cache may have been filled long before. It may be nil.
	Current func(ctx context.Context) error
	// Metrics may be nil.
	Metrics *Metrics
	// Clock defaults to the real clock.
	Clock clock.WithTicker
}

// The defaults of Options. The delays and the bucket are those of client-go's default rate limiter for controllers.
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

// rateLimiter returns the limiter of retries: the longer of the delay of the key and that of the bucket, which all keys share.
// It does not limit what events add.
func (o Options) rateLimiter() workqueue.TypedRateLimiter[types.NamespacedName] {
	return newRetries(workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](
			orDefault(o.BaseDelay, defaultBaseDelay), orDefault(o.MaxDelay, defaultMaxDelay)),
		&workqueue.TypedBucketRateLimiter[types.NamespacedName]{
			Limiter: rate.NewLimiter(rate.Limit(orDefault(o.QPS, defaultQPS)), orDefault(o.BucketSize, defaultBucketSize)),
		},
	), o.clock())
}

// orDefault returns the value if it is more than zero, else the fallback.
func orDefault[T int | float64 | time.Duration](value, fallback T) T {
	if value > 0 {
		return value
	}
	return fallback
}
