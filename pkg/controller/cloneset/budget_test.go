package cloneset

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"

	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/disruption"
)

const updatesBounded = "PodUnavailableBudgetUpdateGate=true"

func budgetOf(allowed int32) *policyv1beta1.PodUnavailableBudget {
	return &policyv1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", Generation: 1, UID: "b"},
		Spec: policyv1beta1.PodUnavailableBudgetSpec{
			MaxUnavailable: new(intstr.FromInt(1)),
			TargetRef:      &policyv1beta1.TargetReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web"},
		},
		Status: policyv1beta1.PodUnavailableBudgetStatus{
			ObservedGeneration: 1, TotalReplicas: 4, DesiredAvailable: 3, CurrentAvailable: 4, UnavailableAllowed: allowed,
		},
	}
}

// once reconciles and returns the delay that the controller asked for.
func (w *world) once() (result int64) {
	w.t.Helper()
	w.Observe()
	again, err := w.reconcile("web")
	require.NoError(w.t, err, "a budget that is used up is no failure")
	w.kubelet()
	return again.RequeueAfter.Milliseconds()
}

func (w *world) budgetStatus() policyv1beta1.PodUnavailableBudgetStatus {
	w.t.Helper()
	budget, err := w.Kruise.PolicyV1beta1().PodUnavailableBudgets("ns").Get(w.t.Context(), "b", metav1.GetOptions{})
	require.NoError(w.t, err)
	return budget.Status
}

// bounded adds a budget to the server. The server rejects a write if the budget changed since it was read.
func (w *world) bounded(budget *policyv1beta1.PodUnavailableBudget) {
	w.t.Helper()
	w.Add(budget)
	resource, version := policyv1beta1.SchemeGroupVersion.WithResource("podunavailablebudgets"), 1
	w.Kruise.PrependReactor("update", "podunavailablebudgets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		update, ok := action.(clienttesting.UpdateActionImpl)
		require.True(w.t, ok)
		written, ok := update.GetObject().(*policyv1beta1.PodUnavailableBudget)
		require.True(w.t, ok)
		stored, err := w.Kruise.Tracker().Get(resource, "ns", "b")
		require.NoError(w.t, err)
		if stored.(*policyv1beta1.PodUnavailableBudget).ResourceVersion != written.ResourceVersion {
			return true, nil, apierrors.NewConflict(pods, "b", nil)
		}
		version++
		written = written.DeepCopy()
		written.ResourceVersion = strconv.Itoa(version)
		return true, written, w.Kruise.Tracker().Update(resource, written, "ns")
	})
}

// Case podunavailablebudget 28: maxUnavailable lets three Pods go at once, the budget one.
func TestUpdateTakesItsPartOfTheBudget(t *testing.T) {
	w := rolled(t, updatesBounded, newSet(4, inPlaceIfPossible, knobs("", "3", "")))
	w.bounded(budgetOf(1))
	w.edit(image("app:2"))
	for range 4 {
		w.once()
	}
	status := w.budgetStatus()
	assert.Zero(t, status.UnavailableAllowed)
	assert.Len(t, status.UnavailablePods, 1)
	assert.Equal(t, map[string]int{"app:1": 3, "app:2": 1}, w.images())
	assert.EqualValues(t, 1000, w.once(), "the others are tried again")
	assert.Empty(t, conditions.Others(w.set().Status.Conditions), "waiting is no failure")
	waiting := 0
	for _, event := range w.Events() {
		if strings.Contains(event, "PubPreventPodDeletion") {
			waiting++
			continue
		}
		assert.NotContains(t, event, "Warning")
	}
	assert.LessOrEqual(t, waiting, 3, "one event for each Pod that waits, not one in each pass")
	assert.Positive(t, waiting)

	w.Update(budgetOf(1)) // As the controller of budgets does in a recount.
	for range 4 {
		w.once()
	}
	assert.Equal(t, map[string]int{"app:1": 2, "app:2": 2}, w.images())
	w.Update(budgetOf(4))
	require.NoError(t, w.passes(10))
	assert.Equal(t, map[string]int{"app:2": 4}, w.images(), "the rollout completes")
}

// A hook takes Pods out of service before their update, so the budget is asked before the hook.
func TestHookDrainsOnlyWhatTheBudgetAllows(t *testing.T) {
	w := rolled(t, updatesBounded, newSet(4, inPlaceIfPossible, drainingUpdate, knobs("", "3", "")))
	w.bounded(budgetOf(1))
	w.edit(image("app:2"))
	for range 4 {
		w.once()
	}
	drained := w.drained()
	require.Len(t, drained, 1)
	assert.Len(t, w.budgetStatus().UnavailablePods, 1)
	assert.EqualValues(t, 1000, w.once(), "the others are tried again")
	// The Pod is out of service already, so its update needs no other part of the budget.
	w.change(drained[0], func(pod *corev1.Pod) { delete(pod.Labels, "hook") })
	for range 4 {
		w.once()
	}
	assert.Equal(t, 1, w.images()["app:2"])
}

// A dry run can take so long that the grant would expire before the Pod is out of service.
func TestSlowUpdateRenewsItsGrant(t *testing.T) {
	w := rolled(t, updatesBounded, newSet(1, inPlaceIfPossible))
	// A grant of a Pod's first seconds could be that of an earlier Pod of its name.
	w.Clock.SetTime(controllertest.Now.Add(time.Minute))
	w.bounded(budgetOf(1))
	// A dry run is only sent after a failure.
	refuse, dryRun := true, false
	w.refuse("patch", func(action clienttesting.Action) error {
		if refuse {
			return apierrors.NewForbidden(pods, "p", errors.New("policy"))
		}
		if slices.Contains(action.(clienttesting.PatchActionImpl).PatchOptions.DryRun, metav1.DryRunAll) && !dryRun {
			dryRun = true
			w.Clock.SetTime(w.Clock.Now().Add(disruption.UpdateExpiry - time.Second))
		}
		return nil
	})
	w.edit(image("app:2"))
	require.Error(t, w.passes(1))
	refuse = false
	w.Update(budgetOf(1)) // As the controller of budgets does when a grant has expired.
	w.Observe()
	_, err := w.reconcile("web")
	require.NoError(t, err)
	require.True(t, dryRun)
	granted := w.budgetStatus().UnavailablePods[w.names()[0]]
	assert.Equal(t, w.Clock.Now(), granted.UTC())
}

func TestUpdatesWithoutTheGateReserveNothing(t *testing.T) {
	w := rolled(t, "", newSet(4, inPlaceIfPossible, knobs("", "3", "")))
	w.Add(budgetOf(0))
	w.edit(image("app:2"))
	require.NoError(t, w.passes(10))
	assert.Equal(t, map[string]int{"app:2": 4}, w.images())
	assert.Empty(t, w.budgetStatus().UnavailablePods)
}

// If the server refuses a deletion because of a budget, the deletion is retried soon and no failure is reported.
func TestDeletionThatBudgetRefuses(t *testing.T) {
	w := rolled(t, "", newSet(2))
	w.Events()
	full := true
	w.refuse("delete", func(clienttesting.Action) error {
		if !full {
			return nil
		}
		status := apierrors.NewForbidden(pods, "p", errors.New("budget"))
		status.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: disruption.Cause}}
		return status
	})
	w.edit(image("app:2"))
	for range 3 {
		w.once()
	}
	assert.EqualValues(t, 1000, w.once())
	for _, event := range w.Events() {
		assert.NotContains(t, event, "FailedDelete")
	}
	full = false
	require.NoError(t, w.passes(20))
	assert.Equal(t, map[string]int{"app:2": 2}, w.images())
}

// If another client writes the budget first, the decision is made again on what that client stored.
func TestConflictingGrantIsDecidedAgain(t *testing.T) {
	w := rolled(t, updatesBounded, newSet(4, inPlaceIfPossible, knobs("", "1", "")))
	w.Add(budgetOf(1))
	w.Observe()
	raced := false
	w.Kruise.PrependReactor("update", "podunavailablebudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if raced {
			return false, nil, nil
		}
		raced = true
		require.NoError(t, w.Kruise.Tracker().Update(policyv1beta1.SchemeGroupVersion.WithResource("podunavailablebudgets"), budgetOf(0), "ns"))
		return true, nil, apierrors.NewConflict(pods, "b", nil)
	})
	w.edit(image("app:2"))
	for range 3 {
		w.once()
	}
	assert.True(t, raced)
	assert.Equal(t, map[string]int{"app:1": 4}, w.images())
}

// Permanent write conflicts on the budget are no failure either.
func TestBusyBudgetIsRetried(t *testing.T) {
	w := rolled(t, updatesBounded, newSet(4, inPlaceIfPossible, knobs("", "1", "")))
	w.Add(budgetOf(1))
	busy := true
	w.Kruise.PrependReactor("update", "podunavailablebudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return busy, nil, apierrors.NewConflict(pods, "b", nil)
	})
	w.edit(image("app:2"))
	for range 3 {
		w.once()
	}
	assert.EqualValues(t, 1000, w.once())
	assert.Equal(t, map[string]int{"app:1": 4}, w.images())
	for _, event := range w.Events() {
		assert.NotContains(t, event, "Warning")
	}
	busy = false
	for range 4 {
		w.once()
	}
	assert.Equal(t, map[string]int{"app:1": 3, "app:2": 1}, w.images())
}

// A user looks at the workload, and not at the budget that holds it.
func TestWorkloadThatABudgetHoldsForLongSaysSo(t *testing.T) {
	w := rolled(t, updatesBounded, newSet(4, inPlaceIfPossible, knobs("", "1", "")))
	w.bounded(budgetOf(0))
	w.edit(image("app:2"))
	held := func() int {
		return strings.Count(strings.Join(w.Events(), "\n"), "Warning HeldByBudget Pods wait for a PodUnavailableBudget.")
	}
	w.once()
	w.Clock.SetTime(w.Clock.Now().Add(29 * time.Second))
	w.once()
	assert.Zero(t, held())
	w.Clock.SetTime(w.Clock.Now().Add(time.Second))
	w.once()
	assert.Equal(t, 1, held())
	w.Clock.SetTime(w.Clock.Now().Add(time.Minute))
	w.once()
	assert.Zero(t, held(), "once")
}
