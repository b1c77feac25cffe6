package podunavailablebudget

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/disruption"
)

var budgets = policyv1beta1.SchemeGroupVersion.WithResource("podunavailablebudgets")

// deleteBudget deletes b, as the informer sees it.
func (w *world) deleteBudget() {
	w.t.Helper()
	gone := w.budget("b")
	require.NoError(w.t, w.Kruise.Tracker().Delete(budgets, "ns", "b"))
	w.Observe()
	w.r.movedGrants(gone, nil)
}

func recreated(b *policyv1beta1.PodUnavailableBudget) { b.UID = "recreated" }

// The deletion of p-0 was granted and is still under way when another budget takes its Pods over.
// Case podunavailablebudget 27a.
func TestGrantsInFlightMoveToTheNextBudget(t *testing.T) {
	granted := controllertest.Now.Truncate(time.Second)
	tests := map[string]struct {
		change func(*world)
		// budget is the next one.
		budget string
		after  time.Duration
		want   counts
		grants int
	}{
		"recreated": {
			change: func(w *world) { w.deleteBudget(); w.Add(newBudget(ofCloneSet, recreated)) },
			budget: "b", want: counts{10, 7, 9, 2}, grants: 1,
		},
		"recreated, and the cache shows the old one": {
			change: func(w *world) {
				old := w.budget("b")
				w.deleteBudget()
				w.r.departed = newDeparted()
				require.NoError(w.t, w.r.budgets.Add(old))
				w.Add(newBudget(ofCloneSet, recreated))
				fresh := w.budget("b")
				w.Observe()
				require.NoError(w.t, w.r.budgets.Add(old))
				_, _, err := w.r.count(w.t.Context(), fresh)
				require.NoError(w.t, err)
			},
			budget: "b", want: counts{10, 7, 9, 2}, grants: 1,
		},
		"replaced": {
			change: func(w *world) { w.deleteBudget(); w.Add(newBudget(ofCloneSet, called("z"))) },
			budget: "z", want: counts{10, 7, 9, 2}, grants: 1,
		},
		"another sorts first": {
			change: func(w *world) { w.Add(newBudget(ofCloneSet, called("a"))) },
			budget: "a", want: counts{10, 7, 9, 2}, grants: 1,
		},
		"another governs other Pods": {
			change: func(w *world) { w.Add(newBudget(selecting("app", "web"), called("a"))) },
			budget: "a", want: counts{0, 0, 0, 0},
		},
		"the Pod is another of that name": {
			change: func(w *world) {
				w.deleteBudget()
				w.Add(newBudget(ofCloneSet, recreated))
				w.change("p-0", func(pod *corev1.Pod) { pod.UID = "successor" })
			},
			budget: "b", want: counts{10, 7, 10, 3},
		},
		"the Pod came after the grant": {
			change: func(w *world) {
				w.change("p-0", func(pod *corev1.Pod) {
					pod.UID, pod.CreationTimestamp = "successor", metav1.NewTime(granted.Add(time.Second))
				})
				w.Add(newBudget(ofCloneSet, called("a")))
			},
			budget: "a", want: counts{10, 7, 10, 3},
		},
		"the grant has expired": {
			change: func(w *world) { w.deleteBudget(); w.Add(newBudget(ofCloneSet, recreated)) },
			after:  disruption.DeletionExpiry, budget: "b", want: counts{10, 7, 10, 3},
		},
		"the grant has expired where it was made": {
			change: func(w *world) { w.Add(newBudget(ofCloneSet, called("a"))) },
			after:  disruption.DeletionExpiry, budget: "a", want: counts{10, 7, 10, 3},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := base(t)
			w.grant("p-0", granted)
			w.Observe()
			test.change(w)
			w.Clock.SetTime(granted.Add(test.after))
			require.NoError(t, w.reconcileBudget(test.budget))
			status := w.budget(test.budget).Status
			assert.Equal(t, test.want, countsOf(status))
			assert.Len(t, status.DisruptedPods, test.grants)
			if test.grants == 0 {
				for _, event := range w.Events() {
					assert.NotContains(t, event, "NotDeleted", "this budget expected nothing")
				}
			} else {
				assert.True(t, status.DisruptedPods["p-0"].Time.Equal(granted), "it expires when it would have")
				w.Clock.SetTime(granted.Add(disruption.DeletionExpiry))
				require.NoError(t, w.reconcileBudget(test.budget))
				assert.Equal(t, counts{10, 7, 10, 3}, countsOf(w.budget(test.budget).Status))
				require.NoError(t, w.reconcileBudget(test.budget))
				assert.Equal(t, counts{10, 7, 10, 3}, countsOf(w.budget(test.budget).Status), "it is not carried over again")
			}
		})
	}
}

func TestBudgetsLearnOfGrantsThatOthersMake(t *testing.T) {
	w := base(t)
	w.Add(newBudget(ofCloneSet, called("a")))
	w.Observe()
	before := w.budget("b")
	w.grant("p-0", controllertest.Now)
	after := w.budget("b")
	assert.Equal(t, keys("a"), w.r.movedGrants(before, after), "a governs the Pod, and an apiserver did not know yet")
	assert.Empty(t, w.r.movedGrants(after, after))
	assert.Equal(t, keys("a"), w.r.movedGrants(after, nil), "what is left of a deleted budget")
	w.change("p-0", func(pod *corev1.Pod) { pod.OwnerReferences = nil })
	w.Observe()
	assert.Empty(t, w.r.movedGrants(before, after), "no budget governs the Pod")
}

func TestOldGrantsOfDeletedBudgetsAreForgotten(t *testing.T) {
	w := base(t)
	w.grant("p-0", controllertest.Now)
	w.r.movedGrants(w.budget("b"), nil)
	require.Len(t, w.r.departed.grants, 1)
	w.Clock.SetTime(controllertest.Now.Add(time.Minute))
	w.grant("p-1", w.Clock.Now())
	w.r.movedGrants(w.budget("b"), nil)
	assert.Len(t, w.r.departed.grants, 1)
}
