package policy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
	"kruise.io/kruise/pkg/workload/disruption"
)

var resource = schema.GroupResource{Group: policy.GroupName, Resource: budgetResource}

type budgets = rest.Statuses[policy.PodUnavailableBudget, v1beta1.PodUnavailableBudget]

// statuses stores one budget as the generic store does. It calls the update with the stored budget, and again after a conflict.
type statuses struct {
	genericrest.Storage
	lock    sync.Mutex
	budget  *policy.PodUnavailableBudget
	version int
	writes  int
	fails   error
}

func (s *statuses) read() (*policy.PodUnavailableBudget, int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.budget, s.version
}

func (s *statuses) Update(
	ctx context.Context, name string, change genericrest.UpdatedObjectInfo, _ genericrest.ValidateObjectFunc,
	_ genericrest.ValidateObjectUpdateFunc, _ bool, _ *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	warning.AddWarning(ctx, "", "for nobody")
	if genericapirequest.NamespaceValue(ctx) != "ns" || name != "b" {
		return nil, false, apierrors.NewNotFound(resource, name)
	}
	for {
		stored, version := s.read()
		changed, err := change.UpdatedObject(ctx, stored)
		if err != nil {
			return nil, false, err
		}
		<-time.After(10 * time.Millisecond)
		if done, err := s.write(changed, version); done || err != nil {
			return changed, false, err
		}
	}
}

func (s *statuses) write(changed runtime.Object, over int) (bool, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.fails != nil || s.version != over {
		return false, s.fails
	}
	budget, ok := changed.(*policy.PodUnavailableBudget)
	s.budget, s.version, s.writes = budget, s.version+1, s.writes+1
	return ok, nil
}

// serve passes the storage to the kind, as the server does after it has opened the store.
func serve(t *testing.T, b *budgets, s *statuses) {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	kind, ok := podUnavailableBudget(gate, b).(*rest.Kind[*policy.PodUnavailableBudget])
	require.True(t, ok)
	kind.Extend(map[string]genericrest.Storage{budgetResource + "/status": s})
}

// open returns a budget that allows the given number of disruptions.
func open(t *testing.T, allowed int32) (*budgets, *statuses) {
	t.Helper()
	s := &statuses{budget: &policy.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", Generation: 1},
		Spec:       policy.PodUnavailableBudgetSpec{MinAvailable: new(intstr.FromInt32(1))},
		Status: policy.PodUnavailableBudgetStatus{
			ObservedGeneration: 1, TotalReplicas: 100, DesiredAvailable: 1, CurrentAvailable: allowed + 1, UnavailableAllowed: allowed,
		},
	}}
	b := NewBudgets()
	serve(t, b, s)
	return b, s
}

// evict reserves a disruption.
func evict(ctx context.Context, b *budgets, pod string, dryRun bool) error {
	return b.UpdateStatus(ctx, "ns", "b", func(budget *v1beta1.PodUnavailableBudget) error {
		return disruption.Spend(budget, &disruption.Request{Operation: v1beta1.PubEvictOperation, DryRun: dryRun, Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: "ns"},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		}}, time.Now())
	})
}

// recorder fails the test if a warning is recorded.
type recorder struct{ t *testing.T }

func (r recorder) AddWarning(_, text string) { r.t.Error(text) }

func TestConcurrentGrantsShareWrites(t *testing.T) {
	for name, servers := range map[string]int{"one server": 1, "two servers": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := warning.WithWarningRecorder(t.Context(), recorder{t})
				b, s := open(t, 20)
				all := []*budgets{b, b}
				if servers == 2 {
					all[1] = NewBudgets()
					serve(t, all[1], s)
				}
				errs := make([]error, 50)
				var clients sync.WaitGroup
				for i := range errs {
					clients.Go(func() { errs[i] = evict(ctx, all[i%2], fmt.Sprintf("p-%d", i), false) })
				}
				clients.Wait()
				granted := map[string]bool{}
				for i, err := range errs {
					if err == nil {
						granted[fmt.Sprintf("p-%d", i)] = true
						continue
					}
					var refusal *disruption.Refusal
					require.ErrorAs(t, err, &refusal)
				}
				assert.Len(t, granted, 20)
				assert.Zero(t, s.budget.Status.UnavailableAllowed)
				for pod := range s.budget.Status.DisruptedPods {
					assert.True(t, granted[pod], "who was not told spent nothing: %s", pod)
				}
				assert.Len(t, s.budget.Status.DisruptedPods, 20)
				assert.LessOrEqual(t, s.writes, 2*servers)
			})
		})
	}
}

func TestDryRunsAmongOthersSpendNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := open(t, 2)
		var clients sync.WaitGroup
		for i := range 20 {
			clients.Go(func() { assert.NoError(t, evict(t.Context(), b, fmt.Sprintf("dry-%d", i), true)) })
		}
		clients.Go(func() { assert.NoError(t, evict(t.Context(), b, "p", false)) })
		clients.Wait()
		assert.EqualValues(t, 1, s.budget.Status.UnavailableAllowed)
		assert.Len(t, s.budget.Status.DisruptedPods, 1)
	})
}

func TestStoreErrorReachesEveryCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := open(t, 20)
		s.fails = errors.New("no leader")
		var clients sync.WaitGroup
		for i := range 5 {
			clients.Go(func() { assert.EqualError(t, evict(t.Context(), b, fmt.Sprintf("p-%d", i), false), "no leader") })
		}
		clients.Wait()
		assert.Empty(t, s.budget.Status.DisruptedPods)
		err := b.UpdateStatus(t.Context(), "ns", "gone", func(*v1beta1.PodUnavailableBudget) error { return nil })
		assert.True(t, apierrors.IsNotFound(err))
	})
}

func TestUpdatesFailWhileTheStoreIsNotOpen(t *testing.T) {
	err := NewBudgets().UpdateStatus(t.Context(), "ns", "b", func(*v1beta1.PodUnavailableBudget) error { return nil })
	assert.True(t, apierrors.IsServiceUnavailable(err))
}
