package podunavailablebudget

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/controller"
)

// If many Pods are deleted one after another, the first is counted at once and the others together.
func TestCountsKeepTheirPace(t *testing.T) {
	w := base(t)
	w.r.pacer = controller.NewPacer(pace)
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
	w.r.pacer = controller.NewPacer(pace)
	require.NoError(t, w.reconcileBudget("b"))
	key := types.NamespacedName{Namespace: "ns", Name: "b"}
	require.NotZero(t, w.r.pacer.Wait(key, w.Clock.Now()))
	require.NoError(t, w.Kruise.PolicyV1beta1().PodUnavailableBudgets("ns").Delete(t.Context(), "b", metav1.DeleteOptions{}))
	require.NoError(t, w.reconcileBudget("b"))
	assert.Zero(t, w.r.pacer.Wait(key, w.Clock.Now()))
}
