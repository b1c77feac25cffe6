package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

var key = types.NamespacedName{Namespace: "ns", Name: "a"}

func itself(object metav1.Object) []types.NamespacedName {
	return []types.NamespacedName{{Namespace: object.GetNamespace(), Name: object.GetName()}}
}

// runFor runs the controller for a time. Call it in a synctest bubble.
func runFor(t *testing.T, c *Controller, period time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	<-time.After(period)
	cancel()
	running.Wait()
}

func TestRetriesGrowAndRequeuesArePunctual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var calls []time.Duration
		c := New("test", Options{Workers: 1, BaseDelay: time.Second}, func(context.Context, types.NamespacedName) (Result, error) {
			calls = append(calls, time.Since(begin))
			switch len(calls) {
			case 1, 2, 3:
				return Result{}, errors.New("not yet")
			case 4:
				return Result{RequeueAfter: time.Minute}, nil
			default:
				return Result{}, nil
			}
		})
		c.Add(key)
		runFor(t, c, time.Hour)
		assert.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 67 * time.Second}, calls)
	})
}

func TestWaitingDoesNotResetTheDelayOfErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		waiting Result
		want    time.Duration
	}{
		"it waits":     {Result{RequeueAfter: time.Minute, KeepFailures: true}, 4 * time.Second},
		"it succeeded": {Result{RequeueAfter: time.Minute}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls []time.Time
				c := New("test", Options{Workers: 1, BaseDelay: time.Second}, func(context.Context, types.NamespacedName) (Result, error) {
					calls = append(calls, time.Now())
					switch len(calls) {
					case 1, 2, 4:
						return Result{}, errors.New("failed")
					case 3:
						return tc.waiting, nil
					default:
						return Result{}, nil
					}
				})
				c.Add(key)
				runFor(t, c, time.Hour)
				require.Len(t, calls, 5)
				assert.Equal(t, tc.want, calls[4].Sub(calls[3]), "the delay after the third error")
			})
		})
	}
}

func TestFailureIsRetriedBeforeTheDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var calls []time.Duration
		c := New("test", Options{Workers: 1, BaseDelay: time.Hour}, func(context.Context, types.NamespacedName) (Result, error) {
			calls = append(calls, time.Since(begin))
			if len(calls) == 1 {
				return Result{RequeueAfter: time.Minute}, errors.New("not yet")
			}
			return Result{}, nil
		})
		c.Add(key)
		runFor(t, c, 2*time.Minute)
		assert.Equal(t, []time.Duration{0, time.Minute}, calls)
	})
}

// TestEventsDoNotLengthenTheRetryDelay lets every reconcile fail, with an event every 100 ms, for ten seconds. The failures that
// events cause must not count, or the delay would have grown to 1,000 seconds.
func TestEventsDoNotLengthenTheRetryDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, outage := time.Now(), 10*time.Second
		var recovered time.Duration
		c := New("test", Options{Workers: 1}, func(context.Context, types.NamespacedName) (Result, error) {
			if time.Since(begin) < outage {
				return Result{}, errors.New("not yet")
			}
			recovered = time.Since(begin)
			return Result{}, nil
		})
		go func() {
			for time.Since(begin) < outage {
				c.Add(key)
				<-time.After(100 * time.Millisecond)
			}
		}()
		runFor(t, c, time.Hour)
		assert.Positive(t, recovered)
		assert.LessOrEqual(t, recovered, 2*outage+time.Second, "the wait is not longer than the outage")
	})
}

func TestOutageDoesNotGrowTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, calls := time.Now(), 0
		var recovered time.Duration
		c := New("test", Options{Workers: 1}, func(context.Context, types.NamespacedName) (Result, error) {
			if calls++; time.Since(begin) < time.Hour {
				return Result{}, apierrors.NewServiceUnavailable("away")
			}
			recovered = time.Since(begin)
			return Result{}, nil
		})
		c.Add(key)
		runFor(t, c, 2*time.Hour)
		assert.LessOrEqual(t, recovered, time.Hour+5*time.Second)
	})
}

func TestKeyIsProcessedByOneWorkerAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, most, calls := 0, 0, 0
		c := New("test", Options{Workers: 8}, func(ctx context.Context, _ types.NamespacedName) (Result, error) {
			busy++
			calls++
			most = max(most, busy)
			<-time.After(time.Second)
			busy--
			return Result{}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		for range 20 {
			c.queue.Add(key)
			<-time.After(time.Second / 4)
		}
		<-time.After(time.Minute)
		cancel()
		running.Wait()
		assert.Equal(t, 1, most)
		assert.Greater(t, calls, 1)
	})
}

// Case configuration 12.
func TestWorkersLimitConcurrentKeys(t *testing.T) {
	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running, most, done atomic.Int32
				c := New("test", Options{Workers: workers}, func(context.Context, types.NamespacedName) (Result, error) {
					most.Store(max(most.Load(), running.Add(1)))
					<-time.After(time.Second)
					running.Add(-1)
					done.Add(1)
					return Result{}, nil
				})
				for i := range 10 {
					c.Add(types.NamespacedName{Namespace: "ns", Name: fmt.Sprint(i)})
				}
				runFor(t, c, time.Minute)
				assert.EqualValues(t, workers, most.Load())
				assert.EqualValues(t, 10, done.Load())
			})
		})
	}
}

func TestWatchSeesComingChangingAndGoing(t *testing.T) {
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	calls := make(chan types.NamespacedName, 10)
	c := New("test", Options{Workers: 1}, func(_ context.Context, key types.NamespacedName) (Result, error) {
		calls <- key
		return Result{}, nil
	})
	unlabelled := func(_, after metav1.Object) bool { return after.GetLabels()["ignore"] == "" }
	require.NoError(t, c.Watch(factory.Core().V1().Pods().Informer(), itself, unlabelled))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	factory.Start(ctx.Done())
	running.Go(func() { c.Run(ctx) })
	factory.WaitForCacheSync(ctx.Done())

	pods := client.CoreV1().Pods("ns")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
	_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, key, <-calls)
	pod.Labels = map[string]string{"ignore": "1"}
	_, err = pods.Update(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	pod.Labels = nil
	pod.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	_, err = pods.Update(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, key, <-calls, "its deletion begins")
	require.NoError(t, pods.Delete(ctx, "a", metav1.DeleteOptions{}))
	assert.Equal(t, key, <-calls)
	cancel()
	running.Wait()
	assert.Empty(t, calls, "the ignored change was no call")
}

func TestMetrics(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	m := NewMetrics()
	require.NoError(t, m.Register(registry.Register))
	clock := Options{}.clock()
	m.begin("x", clock)(Result{}, nil)
	m.begin("x", clock)(Result{RequeueAfter: 1}, nil)
	m.begin("x", clock)(Result{}, errors.New("e"))
	conflict := apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("changed"))
	terminating := apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("namespace x is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	m.begin("x", clock)(Result{}, fmt.Errorf("write: %w", errors.Join(terminating, fmt.Errorf("write: %w", conflict))))
	m.begin("x", clock)(Result{}, errors.Join(conflict, errors.New("e")))
	for result, want := range map[string]float64{"success": 1, "requeue_after": 1, "requeue": 1, "error": 2} {
		got, err := testutil.GetCounterMetricValue(m.total.WithLabelValues("x", result))
		require.NoError(t, err)
		assert.InDelta(t, want, got, 0, result)
	}
	got, err := testutil.GetCounterMetricValue(m.errors.WithLabelValues("x"))
	require.NoError(t, err)
	assert.InDelta(t, 2, got, 0)
	var none *Metrics
	none.begin("x", clock)(Result{}, nil)
	none.started("x", 1)
}

// TestWatchChangesSeesBothSides checks that the differ gets the object before and after the change, and nil if it does not exist.
func TestWatchChangesSeesBothSides(t *testing.T) {
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	calls := make(chan types.NamespacedName, 10)
	c := New("test", Options{Workers: 1}, func(_ context.Context, key types.NamespacedName) (Result, error) {
		calls <- key
		return Result{}, nil
	})
	version := func(object metav1.Object) string {
		if object == nil {
			return "none"
		}
		return object.GetLabels()["version"]
	}
	require.NoError(t, c.WatchChanges(factory.Core().V1().Pods().Informer(), func(before, after metav1.Object) []types.NamespacedName {
		return []types.NamespacedName{{Namespace: version(before), Name: version(after)}}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	factory.Start(ctx.Done())
	running.Go(func() { c.Run(ctx) })
	factory.WaitForCacheSync(ctx.Done())

	pods := client.CoreV1().Pods("ns")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", Labels: map[string]string{"version": "1"}}}
	_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, types.NamespacedName{Namespace: "none", Name: "1"}, <-calls)
	pod.Labels = map[string]string{"version": "2"}
	_, err = pods.Update(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, types.NamespacedName{Namespace: "1", Name: "2"}, <-calls)
	require.NoError(t, pods.Delete(ctx, "a", metav1.DeleteOptions{}))
	assert.Equal(t, types.NamespacedName{Namespace: "2", Name: "none"}, <-calls)
	cancel()
	running.Wait()
}

// A reconcile that panics is retried as any other failure, and the other keys are reconciled.
func TestPanicIsAFailureOfOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := map[string]int{}
		c := New("test", Options{Workers: 1}, func(_ context.Context, key types.NamespacedName) (Result, error) {
			calls[key.Name]++
			if key.Name == "a" {
				panic("a wrong patch")
			}
			return Result{}, nil
		})
		c.Add(key)
		c.Add(types.NamespacedName{Namespace: "ns", Name: "b"})
		runFor(t, c, time.Minute)
		assert.Equal(t, 1, calls["b"])
		assert.Greater(t, calls["a"], 1)
	})
}
