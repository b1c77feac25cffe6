package jobsidecarterminator

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// The delay between two requests for a Pod whose sidecars do not end doubles from firstRetry to lastRetry. An agent that is away for
// long does not cause a request every few seconds.
const firstRetry, lastRetry = 10 * time.Second, 5 * time.Minute

// retries remembers how often sidecars of Pods were requested to stop. After a restart of the process, the count begins at zero. It
// is safe for concurrent use.
type retries struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	// of holds the tries by the UID of the Pod.
	of map[types.UID]tries
}

// tries is the number of requests for a Pod, and the time of the last one.
type tries struct {
	count int
	at    time.Time
}

// made records a request. The count only grows while the Pod exists, so a sidecar that starts again and again is stopped less and
// less often.
func (r *retries) made(pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[types.UID]tries{}
	}
	r.of[pod] = tries{count: r.of[pod].count + 1, at: r.clock.Now()}
}

// wait returns how long to wait until the next request for the Pod. since is the end of the last one. It can be negative, which means
// that the next request is due.
func (r *retries) wait(pod types.UID, since time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.of[pod]
	// A request that ended at once still counts from its creation.
	if last.at.After(since) {
		since = last.at
	}
	return delayAfter(last.count) - r.clock.Since(since)
}

// next returns the delay that will follow the next request for the Pod.
func (r *retries) next(pod types.UID) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return delayAfter(r.of[pod].count + 1)
}

// delayAfter returns the delay after a number of requests.
func delayAfter(requests int) time.Duration {
	delay := firstRetry
	// The loop ends at lastRetry, so the delay cannot overflow.
	for n := 1; n < requests && delay < lastRetry; n++ {
		delay *= 2
	}
	return min(delay, lastRetry)
}

// forget drops what is kept for a deleted Pod.
func (r *retries) forget(pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, pod)
}
