package disruption_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/workload/disruption"
)

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

// Reservations that arrive while a write is in progress share the next write.
func TestConcurrentReservationsShareOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := kruisefake.NewClientset(budgetOf(10))
		client.ClearActions()
		answered := make(chan struct{})
		client.PrependReactor("get", "podunavailablebudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
			<-answered
			return false, nil, nil
		})
		known := cache.NewIndexer(cache.MetaNamespaceKeyFunc, disruption.Indexers())
		require.NoError(t, known.Add(budgetOf(10)))
		workload := &metav1.ObjectMeta{Name: "web", Namespace: "ns"}
		kind := schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"}
		reserver := disruption.NewReserver(known, client.PolicyV1beta1(), clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)))
		var held atomic.Int64
		var reserving sync.WaitGroup
		for i := range 15 {
			reserving.Go(func() {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Namespace: "ns"},
					Status: corev1.PodStatus{
						Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
					},
				}
				if err := reserver.Reserve(t.Context(), workload, kind, pod); err != nil {
					assert.True(t, disruption.Refused(err), "%v", err)
					held.Add(1)
				}
			})
			synctest.Wait()
		}
		close(answered)
		reserving.Wait()
		assert.EqualValues(t, 5, held.Load())
		assert.Len(t, client.Actions(), 4, "the first, and then all others: each reads and writes")
	})
}

func TestWithoutRefusals(t *testing.T) {
	refusal := fmt.Errorf("update: %w", &disruption.Refusal{})
	failure := errors.New("broken")
	for name, test := range map[string]struct {
		err, rest error
		held      bool
	}{
		"none":    {},
		"failure": {failure, failure, false},
		"refusal": {refusal, nil, true},
		"both":    {errors.Join(refusal, errors.Join(failure, refusal)), errors.Join(errors.Join(failure)), true},
	} {
		t.Run(name, func(t *testing.T) {
			held, rest := disruption.WithoutRefusals(test.err)
			assert.Equal(t, test.held, held != nil)
			assert.Equal(t, test.rest, rest)
		})
	}
}
