package podunavailablebudget

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// If many Pods are deleted one after another, the first is counted at once and the others together.
func TestCountsKeepTheirPace(t *testing.T) {
	w := base(t)
	w.r.pacer = newPacer(pace)
	gone := func(name string) {
		w.change(name, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
	}
	gone("p-0")
	assert.EqualValues(t, 9, w.reconcile().CurrentAvailable)
	for _, name := range []string{"p-1", "p-2"} {
		gone(name)
		w.Clock.SetTime(w.Clock.Now().Add(pace / 4))
		assert.EqualValues(t, 9, w.reconcile().CurrentAvailable)
	}
	assert.Equal(t, pace/2, w.last.RequeueAfter)
	w.Clock.SetTime(w.Clock.Now().Add(pace / 2))
	assert.EqualValues(t, 7, w.reconcile().CurrentAvailable)
	assert.Zero(t, w.last.RequeueAfter)
}

func TestPacerDropsIdleBudgets(t *testing.T) {
	w := base(t)
	w.r.pacer = newPacer(pace)
	require.NoError(t, w.reconcileBudget("b"))
	require.NotEmpty(t, w.r.pacer.last)
	require.NoError(t, w.Kruise.PolicyV1beta1().PodUnavailableBudgets("ns").Delete(t.Context(), "b", metav1.DeleteOptions{}))
	require.NoError(t, w.reconcileBudget("b"))
	assert.Empty(t, w.r.pacer.last)
	assert.Zero(t, w.r.pacer.wait(types.NamespacedName{Name: "b"}, time.Time{}))
}
