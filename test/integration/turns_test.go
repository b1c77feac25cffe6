//go:build integration

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
)

// Budgets, SidecarSets and WorkloadSpreads are written one at a time, and each is checked against a list of all others. The list must be as new as the
// lock, and the watch cache by itself asks etcd for its progress only every 100 ms.
// Not parallel: it measures how long writes take.
func TestWritesInTurnDoNotWaitForTheWatchCache(t *testing.T) {
	store := startMembers(t, 3)
	s := alone(t, "turns", "--etcd-servers="+strings.Join(store.endpoints(), ","), "--feature-gates=PodUnavailableBudgetUpdateGate=true")
	namespace := newNamespace(t)
	budgets := s.clientset(t).PolicyV1beta1().PodUnavailableBudgets(namespace)
	const count = 30
	taken, plain := make([]time.Duration, 0, count), make([]time.Duration, 0, count)
	for i := range count {
		began := time.Now()
		_, err := s.client(t, namespace).Create(t.Context(), newCloneSet(fmt.Sprint("c-", i)), metav1.CreateOptions{})
		require.NoError(t, err)
		plain = append(plain, time.Since(began))
		began = time.Now()
		_, err = budgets.Create(t.Context(), &policyv1beta1.PodUnavailableBudget{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("b-", i)},
			Spec: policyv1beta1.PodUnavailableBudgetSpec{
				TargetRef:      &policyv1beta1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: fmt.Sprint("d-", i)},
				MaxUnavailable: new(intstr.FromInt(1)),
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		taken = append(taken, time.Since(began))
	}
	slices.Sort(taken)
	slices.Sort(plain)
	t.Logf("the creation of a budget takes %s (median), at most %s, and that of a CloneSet %s", taken[count/2].Round(100*time.Microsecond),
		taken[count-1].Round(100*time.Microsecond), plain[count/2].Round(100*time.Microsecond))
	assert.Less(t, taken[count/2], 50*time.Millisecond+3*plain[count/2], "beside its writes, the request does not wait")
}
