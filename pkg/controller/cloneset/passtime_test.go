package cloneset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// slowServer makes each write to a Pod take some time.
func (w *world) slowServer(each time.Duration) {
	w.Kube.PrependReactor("*", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if verb := action.GetVerb(); verb == "create" || verb == "patch" || verb == "delete" {
			w.Clock.SetTime(w.Clock.Now().Add(each))
		}
		return false, nil, nil
	})
}

func (w *world) pass() time.Duration {
	w.t.Helper()
	w.Observe()
	result, err := w.reconcile("web")
	require.NoError(w.t, err)
	return result.RequeueAfter
}

// A pass over many Pods ends after about one second and asks for the next pass. A pause during an update therefore takes effect
// at once.
func TestPassEndsAfterOneSecond(t *testing.T) {
	w := newWorld(t, "", newSet(60, inPlaceIfPossible, knobs("", "100%", "")))
	w.r.engine.Width = 4
	w.slowServer(80 * time.Millisecond)
	began := w.Clock.Now()
	assert.Equal(t, 10*time.Millisecond, w.pass(), "it asks to continue")
	assert.LessOrEqual(t, w.Clock.Since(began), 1400*time.Millisecond)
	assert.InDelta(t, 12, len(w.Pods()), 4)
	for range 12 {
		w.pass()
		w.kubelet()
		w.wait(time.Second)
	}
	require.Equal(t, int32(60), w.set().Status.AvailableReplicas)

	w.edit(image("app:2"))
	w.pass()
	begun := w.images()["app:2"]
	assert.Positive(t, begun)
	assert.Less(t, begun, 20)
	w.edit(func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = true })
	for range 5 {
		w.pass()
		w.kubelet()
	}
	assert.Equal(t, begun, w.images()["app:2"], "a pause takes hold with the next pass")
}
