//go:build integration

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	policyclient "kruise.io/kruise/pkg/generated/clientset/versioned/typed/policy/v1beta1"
)

// Budgets, SidecarSets and WorkloadSpreads are written one at a time, and each is checked against a list of all others. The list must be as new as the
// lock, and the watch cache by itself asks etcd for its progress only every 100 ms.
// Not parallel: it measures how long writes take. On a busy machine a round can fail by chance, so the first of five rounds that holds
// counts. If none holds, the test fails if the machine was quick in one of them, and says nothing otherwise.
func TestWritesInTurnDoNotWaitForTheWatchCache(t *testing.T) {
	store := startMembers(t, 3)
	s := alone(t, "turns", "--etcd-servers="+strings.Join(store.endpoints(), ","), "--feature-gates=PodUnavailableBudgetUpdateGate=true")
	namespace := newNamespace(t)
	budgets := s.clientset(t).PolicyV1beta1().PodUnavailableBudgets(namespace)
	const count, rounds, quick = 30, 5, 20 * time.Millisecond
	fastest := time.Hour
	for round := range rounds {
		taken, plain := medianWrites(t, s, budgets, namespace, round, count)
		if taken < 50*time.Millisecond+3*plain {
			return // Beside its writes, the request does not wait.
		}
		fastest = min(fastest, plain)
	}
	if fastest >= quick {
		t.Skipf("the machine is too busy: the creation of a CloneSet takes %s (median)", fastest)
	}
	t.Errorf("beside its writes, the request waits, although the creation of a CloneSet takes only %s (median)", fastest)
}

// medianWrites creates CloneSets and budgets in turn. It returns how long the creation of a budget and that of a CloneSet takes.
func medianWrites(t *testing.T, s *server, budgets policyclient.PodUnavailableBudgetInterface, namespace string, round, count int) (
	budget, cloneSet time.Duration,
) {
	t.Helper()
	taken, plain := make([]time.Duration, 0, count), make([]time.Duration, 0, count)
	for i := range count {
		began := time.Now()
		_, err := s.client(t, namespace).Create(t.Context(), newCloneSet(fmt.Sprintf("c-%d-%d", round, i)), metav1.CreateOptions{})
		require.NoError(t, err)
		plain = append(plain, time.Since(began))
		began = time.Now()
		_, err = budgets.Create(t.Context(), &policyv1beta1.PodUnavailableBudget{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b-%d-%d", round, i)},
			Spec: policyv1beta1.PodUnavailableBudgetSpec{
				TargetRef:      &policyv1beta1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: fmt.Sprintf("d-%d-%d", round, i)},
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
	return taken[count/2], plain[count/2]
}
