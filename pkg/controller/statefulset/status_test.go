package statefulset

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/controller"
)

// The message of a failure names another port at each attempt. If each message were written to the status, each write would trigger the
// next attempt at once.
func TestPersistentFailureIsReportedOnceInAWhile(t *testing.T) {
	w := newWorld(t, "", newSet(3))
	port := 40000
	w.Kube.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		port++
		return true, &corev1.Pod{}, fmt.Errorf("dial tcp 10.0.0.1:%d: connection refused", port)
	})
	statusWrites := func() (writes int) {
		t.Helper()
		w.Observe()
		w.Clock.SetTime(w.Clock.Now().Add(time.Millisecond))
		require.ErrorContains(t, w.attempt(), "connection refused")
		for _, write := range w.Writes() {
			if strings.Contains(write, "status") {
				writes++
			}
		}
		return writes
	}
	assert.Equal(t, 1, statusWrites())
	assert.Zero(t, statusWrites())
	first := w.set().Status.Conditions[0]
	for range 3 {
		w.Clock.SetTime(w.Clock.Now().Add(controller.RewordAfter))
		assert.Equal(t, 1, statusWrites(), "what it says now is told in time")
		assert.Zero(t, statusWrites(), "and not again")
	}
	later := w.set().Status.Conditions[0]
	assert.NotEqual(t, first.Message, later.Message)
	assert.Equal(t, first.LastTransitionTime, later.LastTransitionTime)
}
