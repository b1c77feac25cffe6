package consistency

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/workload/kinds"
)

var (
	pods = schema.GroupResource{Resource: "pods"}
	sets = schema.GroupResource{Group: "apps.kruise.io", Resource: "clonesets"}
	ours = types.UID("ours")
	set  = &metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: ours}
)

// server is the API server that a guard asks.
type server struct {
	version string
	found   metav1.Object
	err     error
	asked   int
}

func (s *server) look(_ context.Context, _ schema.GroupResource, _, _ string) (string, metav1.Object, error) {
	s.asked++
	return s.version, s.found, s.err
}

type world struct {
	*Guard
	server     server
	clock      *clocktesting.FakePassiveClock
	pods, sets cache.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		clock: clocktesting.NewFakePassiveClock(time.Now()),
		pods:  cache.NewStore(cache.MetaNamespaceKeyFunc), sets: cache.NewStore(cache.MetaNamespaceKeyFunc),
	}
	w.pods.Bookmark("100")
	w.sets.Bookmark("5")
	m := NewMetrics()
	require.NoError(t, m.Register(metrics.NewKubeRegistry().Register))
	w.Guard = New(Config{Controller: "c", Kind: kinds.CloneSet, Timeout: time.Minute, Clock: w.clock, Look: w.server.look, Metrics: m})
	w.Add(pods, w.pods)
	w.Add(sets, w.sets)
	return w
}

func (w *world) after(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

func (w *world) waits(t *testing.T) bool { return w.Wait(t.Context(), set) > 0 }

func count(t *testing.T, vec *metrics.CounterVec, labels ...string) float64 {
	t.Helper()
	value, err := testutil.GetCounterMetricValue(vec.WithLabelValues(labels...))
	require.NoError(t, err)
	return value
}

func TestWrites(t *testing.T) {
	tests := map[string]struct {
		act  func(*world)
		want bool
	}{
		"nothing was written":                      {func(*world) {}, false},
		"the cache is behind":                      {func(w *world) { w.Wrote(ours, pods, "101") }, true},
		"the cache has it":                         {func(w *world) { w.Wrote(ours, pods, "100") }, false},
		"a bookmark is proof":                      {func(w *world) { w.Wrote(ours, pods, "101"); w.pods.Bookmark("102") }, false},
		"the newest write counts":                  {func(w *world) { w.Wrote(ours, pods, "105"); w.Wrote(ours, pods, "101"); w.pods.Bookmark("103") }, true},
		"versions of two servers are not compared": {func(w *world) { w.Wrote(ours, sets, "6"); w.sets.Bookmark("6"); w.pods.Bookmark("1") }, false},
		"another owner's writes":                   {func(w *world) { w.Wrote("theirs", pods, "101") }, false},
		"a write without a version":                {func(w *world) { w.Wrote(ours, pods, "") }, false},
		"forgotten":                                {func(w *world) { w.Wrote(ours, pods, "101"); w.Forget(ours) }, false},
		"a resource that is not cached":            {func(w *world) { w.Wrote(ours, schema.GroupResource{Resource: "x"}, "9999") }, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.act(w)
			assert.Equal(t, tc.want, w.waits(t))
			assert.Zero(t, w.server.asked)
		})
	}
}

var pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "1", ResourceVersion: "100"}}

func terminating() *corev1.Pod {
	goes := pod.DeepCopy()
	goes.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	return goes
}

func successor() *corev1.Pod {
	other := pod.DeepCopy()
	other.UID = "2"
	return other
}

func TestDeletions(t *testing.T) {
	tests := map[string]struct {
		cached *corev1.Pod
		want   bool
	}{
		"still there as it was":           {pod, true},
		"its deletion has begun":          {terminating(), false},
		"gone":                            {nil, false},
		"another object has its name now": {successor(), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tc.cached != nil {
				require.NoError(t, w.pods.Add(tc.cached))
			}
			w.Deleted(ours, pods, pod)
			assert.Equal(t, tc.want, w.waits(t))
		})
	}
}

// The controller never acts on a late cache, however long the cache takes.
func TestControllerWaitsForALateCache(t *testing.T) {
	for name, act := range map[string]func(*world){
		"a write":    func(w *world) { w.Wrote(ours, pods, "101"); w.server.version = "101" },
		"a deletion": func(w *world) { w.Deleted(ours, pods, pod); w.server.found = terminating() },
		"an object that is gone": func(w *world) {
			w.Deleted(ours, pods, pod)
			w.server.found = nil
		},
		"an object whose name another has": func(w *world) { w.Deleted(ours, pods, pod); w.server.found = successor() },
		"a server that does not answer": func(w *world) {
			w.Wrote(ours, pods, "101")
			w.server.version, w.server.err = "1", errors.New("away")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.pods.Add(pod))
			act(w)
			for range 10 {
				w.after(time.Minute)
				assert.True(t, w.waits(t))
			}
			assert.Equal(t, 10, w.server.asked, "once in each period")
			require.NoError(t, w.pods.Update(terminating()))
			w.pods.Bookmark("101")
			assert.False(t, w.waits(t))
		})
	}
}

// A server that was restored from a backup does not have the write. Its caches may never show it.
func TestControllerDoesNotWaitForALostWrite(t *testing.T) {
	for name, act := range map[string]func(*world){
		"a write":    func(w *world) { w.Wrote(ours, pods, "101"); w.server.version = "90" },
		"a deletion": func(w *world) { w.Deleted(ours, pods, pod); w.server.found = pod },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.pods.Add(pod))
			act(w)
			assert.True(t, w.waits(t), "before the timeout")
			assert.Zero(t, w.server.asked)
			w.after(time.Minute)
			assert.False(t, w.waits(t))
			assert.InDelta(t, 1, count(t, w.Metrics.rollbacks, "c"), 0)
			assert.InDelta(t, 0, count(t, w.Metrics.lates[kinds.CloneSet], "ns", "web"), 0)
		})
	}
}

func TestLostWriteDoesNotHideOtherWrites(t *testing.T) {
	w := newWorld(t)
	w.Wrote(ours, pods, "101")
	w.Wrote(ours, sets, "6")
	w.Look = func(_ context.Context, resource schema.GroupResource, _, _ string) (string, metav1.Object, error) {
		return map[schema.GroupResource]string{pods: "90", sets: "6"}[resource], nil, nil
	}
	w.after(time.Minute)
	assert.True(t, w.waits(t))
	w.sets.Bookmark("6")
	w.after(time.Minute)
	assert.False(t, w.waits(t))
}

// A pass may write for longer than the timeout.
func TestTimeoutCountsFromTheLastWrite(t *testing.T) {
	w := newWorld(t)
	w.Wrote(ours, pods, "101")
	w.after(50 * time.Second)
	w.Wrote(ours, pods, "102")
	w.after(50 * time.Second)
	assert.True(t, w.waits(t))
	assert.Zero(t, w.server.asked)
	w.after(10 * time.Second)
	w.waits(t)
	assert.Equal(t, 1, w.server.asked)
}

func TestPostponedReconcilesAreCounted(t *testing.T) {
	w := newWorld(t)
	w.Wrote(ours, pods, "101")
	w.server.version = "101"
	w.waits(t)
	w.after(time.Minute)
	w.waits(t)
	assert.InDelta(t, 2, count(t, w.Metrics.waits, "c"), 0)
	assert.InDelta(t, 1, count(t, w.Metrics.lates[kinds.CloneSet], "ns", "web"), 0)
	assert.InDelta(t, 0, count(t, w.Metrics.rollbacks, "c"), 0)
	w.Metrics = nil
	w.waits(t)
}

func TestGuardRequiresAtomicFIFO(t *testing.T) {
	require.NoError(t, Supported())
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.AtomicFIFO, false)
	assert.ErrorContains(t, Supported(), "remove KUBE_FEATURE_AtomicFIFO=false")
}

func TestCounterOfLostWritesBeginsAtZero(t *testing.T) {
	registry, m := metrics.NewKubeRegistry(), NewMetrics()
	require.NoError(t, m.Register(registry.Register))
	New(Config{Controller: "c", Metrics: m})
	families, err := registry.Gather()
	require.NoError(t, err)
	names := []string{}
	for _, family := range families {
		names = append(names, family.GetName())
	}
	assert.Contains(t, names, "kruise_manager_lost_write_total")
}
