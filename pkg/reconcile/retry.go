package reconcile

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// retries is a rate limiter whose delay grows once for each retry. A failure that comes before the next retry is due, because
// an event caused a reconcile, does not change when the retry is due. If such failures counted, an object with many events
// would reach the maximum delay in seconds, and would wait for it after the cause of the failures has ended. It implements
// workqueue.TypedRateLimiter.
type retries[T comparable] struct {
	// delays computes the delay of each retry. lock guards due, which is when the next retry of an item is due.
	delays workqueue.TypedRateLimiter[T]
	clock  clock.PassiveClock
	lock   sync.Mutex
	due    map[T]time.Time
}

func newRetries[T comparable](delays workqueue.TypedRateLimiter[T], c clock.PassiveClock) *retries[T] {
	return &retries[T]{delays: delays, clock: c, due: map[T]time.Time{}}
}

// When returns the delay until the retry after a failure.
func (r *retries[T]) When(item T) time.Duration {
	r.lock.Lock()
	defer r.lock.Unlock()
	now := r.clock.Now()
	if left := r.due[item].Sub(now); left > 0 {
		return left
	}
	delay := r.delays.When(item)
	r.due[item] = now.Add(delay)
	return delay
}

// Forget makes the next delay the first one again. The queue calls it after a success, and an item that is never forgotten
// keeps an entry.
func (r *retries[T]) Forget(item T) {
	r.lock.Lock()
	defer r.lock.Unlock()
	delete(r.due, item)
	r.delays.Forget(item)
}

// NumRequeues returns how many retries the delay has grown for.
func (r *retries[T]) NumRequeues(item T) int { return r.delays.NumRequeues(item) }
