//go:build integration

package integration

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	typedpolicyv1beta1 "kruise.io/kruise/pkg/generated/clientset/versioned/typed/policy/v1beta1"
)

// A target has only one budget, even if the budgets name different versions of its kind.
func TestBudgetsDoNotConflict(t *testing.T) {
	t.Parallel()
	client := env.kruise.PolicyV1beta1().PodUnavailableBudgets(newNamespace(t))
	_, err := client.Create(t.Context(), newBudget("demo"), metav1.CreateOptions{})
	require.NoError(t, err)
	second := newBudget("demo")
	second.Name, second.Spec.TargetRef.APIVersion = "second", "apps.kruise.io/v1alpha1"
	_, err = client.Create(t.Context(), second, metav1.CreateOptions{})
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, "spec.targetRef")
	assert.ErrorContains(t, err, "PodUnavailableBudget demo already has this target")
	_, err = client.Get(t.Context(), "second", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

// Two budgets that conflict are created at the same instant, through two apiservers on one etcd.
func TestOneOfTwoBudgetsThatClashIsRefused(t *testing.T) {
	t.Parallel()
	servers, _ := serverPair(t, patient...)
	namespace := newNamespace(t)
	clients := make([]typedpolicyv1beta1.PodUnavailableBudgetInterface, 0, len(servers))
	for _, s := range servers {
		clients = append(clients, s.clientset(t).PolicyV1beta1().PodUnavailableBudgets(namespace))
	}
	alone := time.Now()
	const few = 10
	for i := range few {
		_, err := clients[0].Create(t.Context(), newBudget(fmt.Sprintf("alone-%d", i)), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	t.Logf("a creation takes %s while nobody else writes budgets", time.Since(alone)/few)

	const pairs = 50
	var requests sync.WaitGroup
	answers := make([][2]error, pairs)
	together := time.Now()
	for pair := range pairs {
		for side := range 2 {
			budget := newBudget(fmt.Sprintf("target-%d", pair))
			budget.Name = fmt.Sprintf("b-%d-%d", pair, side)
			requests.Go(func() { _, answers[pair][side] = clients[side].Create(t.Context(), budget, metav1.CreateOptions{}) })
		}
	}
	requests.Wait()
	t.Logf("%d creations at once take %s", 2*pairs, time.Since(together))
	for pair, answer := range answers {
		refused := answer[0]
		if refused == nil {
			refused = answer[1]
		}
		require.True(t, (answer[0] == nil) != (answer[1] == nil), "pair %d: %v", pair, answer)
		requireInvalid(t, refused, "already has this target")
	}
}

// kubectl writes and reads both versions of a budget. v1alpha1 has annotations where v1beta1 has fields.
func TestBudgetByKubectl(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	manifest := `{"apiVersion":"policy.kruise.io/v1alpha1","kind":"PodUnavailableBudget","metadata":{"name":"demo","namespace":"` + namespace + `",
"annotations":{"kruise.io/pub-protect-operations":"DELETE","pub.kruise.io/protect-total-replicas":"15"}},
"spec":{"targetRef":{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","name":"demo"},"maxUnavailable":"30%"}}`
	for range 2 {
		out, err := kubectl(t, manifest, "apply", "-f", "-")
		require.NoError(t, err, out)
	}
	client := env.kruise.PolicyV1beta1().PodUnavailableBudgets(namespace)
	budget, err := client.Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int64(1), budget.Generation, "the second time changed nothing")
	assert.Equal(t, "DELETE", string(budget.Spec.ProtectOperations[0]))
	assert.Equal(t, int32(15), *budget.Spec.ProtectTotalReplicas)
	assert.Regexp(t, `NAME +ALLOWED +CURRENT +DESIRED +TOTAL\ndemo +0 +0 +0 +0`, mustKubectl(t, "get", "pub", "demo", "-n", namespace))

	// The annotations of the older version also work in the newer version, which kubectl prefers.
	mustKubectl(t, "annotate", "pub", "demo", "-n", namespace, "--overwrite", "pub.kruise.io/protect-total-replicas=20")
	budget, err = client.Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(20), *budget.Spec.ProtectTotalReplicas)
	mustKubectl(t, "annotate", "pub", "demo", "-n", namespace, "kruise.io/pub-protect-operations-")
	budget, err = client.Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, budget.Spec.ProtectOperations)

	budget.Status.TotalReplicas, budget.Status.UnavailableAllowed = 10, 3
	budget.Spec.ProtectTotalReplicas = nil
	_, err = client.UpdateStatus(t.Context(), budget, metav1.UpdateOptions{})
	require.NoError(t, err)
	older, err := env.kruise.PolicyV1alpha1().PodUnavailableBudgets(namespace).Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(3), older.Status.UnavailableAllowed)
	assert.Equal(t, "20", older.Annotations["pub.kruise.io/protect-total-replicas"], "/status changes the status alone")
}

func newBudget(name string) *policyv1beta1.PodUnavailableBudget {
	return &policyv1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1beta1.PodUnavailableBudgetSpec{
			TargetRef:      &policyv1beta1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: name},
			MaxUnavailable: new(intstr.FromString("20%")),
		},
	}
}
