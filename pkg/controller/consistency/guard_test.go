package consistency

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
)

var (
	pods = schema.GroupResource{Resource: "pods"}
	sets = schema.GroupResource{Group: "apps.kruise.io", Resource: "clonesets"}
	ours = types.UID("ours")
)

type world struct {
	*Guard
	clock      *clocktesting.FakePassiveClock
	pods, sets cache.Store
}

func newWorld() *world {
	w := &world{
		clock: clocktesting.NewFakePassiveClock(time.Now()),
		pods:  cache.NewStore(cache.MetaNamespaceKeyFunc), sets: cache.NewStore(cache.MetaNamespaceKeyFunc),
	}
	w.pods.Bookmark("100")
	w.sets.Bookmark("5")
	w.Guard = New(time.Minute, w.clock, map[schema.GroupResource]Store{pods: w.pods, sets: w.sets})
	return w
}

func TestWrites(t *testing.T) {
	tests := map[string]struct {
		act  func(*world)
		want bool
	}{
		"nothing was written":                      {func(*world) {}, true},
		"the cache is behind":                      {func(w *world) { w.Wrote(ours, pods, "101") }, false},
		"the cache has it":                         {func(w *world) { w.Wrote(ours, pods, "100") }, true},
		"a bookmark is proof":                      {func(w *world) { w.Wrote(ours, pods, "101"); w.pods.Bookmark("102") }, true},
		"the newest write counts":                  {func(w *world) { w.Wrote(ours, pods, "105"); w.Wrote(ours, pods, "101"); w.pods.Bookmark("103") }, false},
		"versions of two servers are not compared": {func(w *world) { w.Wrote(ours, sets, "6"); w.pods.Bookmark("1000") }, false},
		"another owner's writes":                   {func(w *world) { w.Wrote("theirs", pods, "101") }, true},
		"a write without a version":                {func(w *world) { w.Wrote(ours, pods, "") }, true},
		"forgotten":                                {func(w *world) { w.Wrote(ours, pods, "101"); w.Forget(ours) }, true},
		"a resource that is not cached":            {func(w *world) { w.Wrote(ours, schema.GroupResource{Resource: "x"}, "9999") }, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tc.act(w)
			assert.Equal(t, tc.want, w.Ready(ours) == nil)
		})
	}
}

func TestDeletions(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "1", ResourceVersion: "100"}}
	terminating := pod.DeepCopy()
	terminating.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	successor := pod.DeepCopy()
	successor.UID = "2"
	tests := map[string]struct {
		cached *corev1.Pod
		want   bool
	}{
		"still there as it was":           {pod, false},
		"its deletion has begun":          {terminating, true},
		"gone":                            {nil, true},
		"another object has its name now": {successor, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			if tc.cached != nil {
				assert.NoError(t, w.pods.Add(tc.cached))
			}
			w.Deleted(ours, pods, pod)
			assert.Equal(t, tc.want, w.Ready(ours) == nil)
		})
	}
}

func TestTimeout(t *testing.T) {
	w := newWorld()
	w.Wrote(ours, pods, "101")
	w.clock.SetTime(w.clock.Now().Add(20 * time.Second))
	assert.Equal(t, &Pending{Resource: pods, Wrote: "101", Reached: "100", Remaining: 40 * time.Second}, w.Ready(ours))
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	assert.Equal(t, time.Duration(0), w.Ready(ours).Remaining, "it says so once")
	assert.Nil(t, w.Ready(ours), "and waits no longer")
}

func TestWaitOn(t *testing.T) {
	w := newWorld()
	w.WaitOn()
	w.Wrote(ours, pods, "101")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	assert.Equal(t, time.Duration(0), w.Ready(ours).Remaining, "it says so once in each period")
	assert.Equal(t, time.Minute, w.Ready(ours).Remaining)
	w.pods.Bookmark("101")
	assert.Nil(t, w.Ready(ours))
}
