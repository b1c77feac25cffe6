package app

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
)

// election is a replica with one controller, which works on one Pod until finish is closed.
type election struct {
	kube            *fake.Clientset
	finish, working chan struct{}
	result          chan error
	stop            context.CancelCauseFunc
	// retry is the longest time between two attempts to get the Lease.
	retry time.Duration
	// leads returns the value of the metric.
	leads func() float64
	// lost makes renewals of the Lease fail.
	lost *atomic.Bool
}

// lead starts a replica and waits until it leads.
func lead(t *testing.T) *election {
	t.Helper()
	kube := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}})
	lost := &atomic.Bool{}
	kube.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return lost.Load(), nil, assert.AnError
	})
	e := replica(t, "me", kube)
	e.lost = lost
	<-e.working
	return e
}

// replica starts a replica that wants to lead.
func replica(t *testing.T, identity string, kube *fake.Clientset) *election {
	t.Helper()
	e := &election{kube: kube, finish: make(chan struct{}), working: make(chan struct{}), result: make(chan error, 1)}
	busy := reconcile.New("busy", reconcile.Options{}, func(context.Context, types.NamespacedName) (reconcile.Result, error) {
		close(e.working)
		<-e.finish
		return reconcile.Result{}, nil
	})
	factory := informers.NewSharedInformerFactory(e.kube, 0)
	require.NoError(t, busy.Watch(factory.Core().V1().Pods().Informer(), controller.Self))
	options, err := NewOptions(func(string) string { return "" })
	require.NoError(t, err)
	e.retry = time.Duration(float64(options.Election.RetryPeriod) * (1 + leaderelection.JitterFactor))
	require.Less(t, e.retry, options.Election.LeaseDuration/2)
	registry := metrics.NewKubeRegistry()
	leader, err := newLeaderMetric(registry.Register)
	require.NoError(t, err)
	e.leads = func() float64 {
		value, err := testutil.GetGaugeMetricValue(leader.gauge)
		require.NoError(t, err)
		return value
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "ns", "lease", e.kube.CoreV1(), e.kube.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: identity})
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	e.stop = cancel
	factory.Start(ctx.Done())
	config := &Config{options: options, lock: lock, leader: leader, controllers: []*running{{Controller: busy}}}
	go func() {
		e.result <- config.elect(ctx)
		cancel(nil)
		factory.Shutdown()
	}()
	return e
}

func (e *election) holder(t *testing.T) string {
	t.Helper()
	lease, err := e.kube.CoordinationV1().Leases("ns").Get(context.WithoutCancel(t.Context()), "lease", metav1.GetOptions{})
	require.NoError(t, err)
	return *lease.Spec.HolderIdentity
}

// The next leader must see all writes of this one.
func TestLeaseIsReleasedAfterTheLastWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := lead(t)
		e.stop(nil)
		synctest.Wait()
		assert.Equal(t, "me", e.holder(t), "a reconcile still runs")
		close(e.finish)
		require.NoError(t, <-e.result)
		assert.Empty(t, e.holder(t))
	})
}

// Case configuration 8.
// Case metrics 1.
func TestOneOfTwoReplicasLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := lead(t)
		second := replica(t, "other", first.kube)
		<-time.After(time.Minute)
		assert.Equal(t, "me", first.holder(t))
		select {
		case <-second.working:
			t.Error("the second replica works beside the leader")
		default:
		}
		assert.Equal(t, []float64{1, 0}, []float64{first.leads(), second.leads()})
		close(first.finish)
		stopped := time.Now()
		first.stop(nil)
		require.NoError(t, <-first.result)
		<-second.working
		assert.LessOrEqual(t, time.Since(stopped), second.retry, "the successor must not wait for the Lease to expire")
		assert.Equal(t, "other", second.holder(t))
		assert.Equal(t, []float64{0, 1}, []float64{first.leads(), second.leads()})
		close(second.finish)
		second.stop(nil)
		require.NoError(t, <-second.result)
	})
}

func TestLostLeaseEndsTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := lead(t)
		e.lost.Store(true)
		require.ErrorIs(t, <-e.result, errLostLease)
		close(e.finish)
	})
}
