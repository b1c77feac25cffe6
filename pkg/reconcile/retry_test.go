package reconcile

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// TestNothingIsKeptForDeletedObjects lets reconciles fail in every way, and then find that the object is deleted.
func TestNothingIsKeptForDeletedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []struct {
			result Result
			err    error
		}{
			{Result{}, errors.New("not yet")},
			{Result{RequeueAfter: time.Millisecond}, errors.New("not yet")},
			{Result{RequeueAfter: time.Second, KeepFailures: true}, nil},
			{Result{}, apierrors.NewServiceUnavailable("away")},
			{Result{}, errors.New("not yet")},
		}
		limiter := newRetries(workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](time.Second, time.Hour), clock.RealClock{})
		calls, most := 0, 0
		c := New("test", Options{Workers: 1}, func(context.Context, types.NamespacedName) (Result, error) {
			most = max(most, len(limiter.due))
			if calls++; calls <= len(answers) {
				return answers[calls-1].result, answers[calls-1].err
			}
			return Result{}, nil
		})
		c.queue.ShutDown()
		c.queue = workqueue.NewTypedRateLimitingQueue(limiter)
		c.Add(key)
		runFor(t, c, time.Hour)
		assert.Greater(t, calls, len(answers))
		assert.Equal(t, 1, most)
		assert.Empty(t, limiter.due)
		assert.Zero(t, limiter.NumRequeues(key))
	})
}
