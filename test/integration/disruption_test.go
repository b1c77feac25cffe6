//go:build integration

package integration

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
)

const exhausted = "pub unavailable allowed is negative"

// Ten clients delete one Pod each while the controller counts.
// Case podunavailablebudget 3.
// Case metrics 2.
func TestParallelDeletionsStayWithinTheBudget(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	names := b.budget(10, 3)
	errs := make([]error, len(names))
	var clients sync.WaitGroup
	for i, name := range names {
		client, err := kubernetes.NewForConfig(rest.CopyConfig(env.config))
		require.NoError(t, err)
		clients.Go(func() {
			errs[i] = client.CoreV1().Pods(b.namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
		})
	}
	clients.Wait()
	deleted := 0
	for _, err := range errs {
		if err == nil {
			deleted++
			continue
		}
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		assert.ErrorContains(t, err, exhausted)
		assert.ErrorContains(t, err, b.namespace+"/b")
	}
	assert.Equal(t, 3, deleted)
	b.settled(func(s policyv1beta1.PodUnavailableBudgetStatus) bool {
		return s.CurrentAvailable == 7 && s.UnavailableAllowed == 0 && len(s.DisruptedPods) == 0
	})
	eventually(t, func() bool {
		return len(b.events("Pod", "PubPreventPodDeletion")) > 0 && len(b.events("PodUnavailableBudget", "PubPreventPodDeletion")) > 0
	})
	metrics, err := env.server.get(t.Context(), "/metrics")
	require.NoError(t, err)
	assert.Regexp(t, `pod_unavailable_budget\{kind_namespace_name="unknown_`+b.namespace+`_p-[0-9]",username="[^"]+"\} 1`, string(metrics))
}

// TestUsedUpBudgetRefuses requests every kind of disruption.
// Cases podunavailablebudget 2, 5, 6, 8, 9, 23.
func TestUsedUpBudgetRefuses(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	b.budget(4, 0)

	err := b.evict("p-0")
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	require.ErrorContains(t, err, exhausted)
	_, delays := apierrors.SuggestsClientDelay(err)
	assert.False(t, delays, "client libraries would ask again by themselves")
	require.NotNil(t, mustPod(t, b, "p-0"))

	err = b.image("p-0", "kruise.local/demo:v2")
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	mustKubectl(t, "--namespace", b.namespace, "label", "pod", "p-0", "x=y")
	out, err := kubectl(t, "", "--namespace", b.namespace, "label", "pod", "p-0", "unavailable-pod.kruise.io/x=y")
	require.Error(t, err)
	assert.Contains(t, out, exhausted)
	err = b.remove("p-0", metav1.DryRunAll)
	require.True(t, apierrors.IsForbidden(err), "a dry run tells: %v", err)

	require.NoError(t, b.unready("p-1"))
	require.NoError(t, b.remove("p-1"))
	mustKubectl(t, "--namespace", b.namespace, "annotate", "pod", "p-2", "pub.kruise.io/no-protect=true")
	require.NoError(t, b.evict("p-2"))
	assert.Empty(t, b.status().DisruptedPods)

	// The controller restores the annotation that the user removes.
	mustKubectl(t, "--namespace", b.namespace, "annotate", "pod", "p-0", "kruise.io/related-pub-", "pub.kruise.io/related-pub-")
	eventually(t, func() bool { return mustPod(t, b, "p-0").Annotations["kruise.io/related-pub"] == "b" })
}

func mustPod(t *testing.T, b *budgeted, name string) *metav1.ObjectMeta {
	t.Helper()
	pod, err := b.kube.CoreV1().Pods(b.namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return &pod.ObjectMeta
}

func (b *budgeted) unready(name string) error {
	_, err := b.kube.CoreV1().Pods(b.namespace).Patch(b.t.Context(), name, types.MergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`), metav1.PatchOptions{}, "status")
	return err
}

// Case podunavailablebudget 4.
func TestDryRunSpendsNothing(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	b.budget(4, 1)
	before := b.status()
	for range 3 {
		require.NoError(t, b.remove("p-0", metav1.DryRunAll))
		err := b.kube.PolicyV1().Evictions(b.namespace).Evict(t.Context(), &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Name: "p-1", Namespace: b.namespace},
			DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
		})
		require.NoError(t, err)
	}
	assert.Equal(t, before, b.status())
}

// Case podunavailablebudget 7.
func TestBudgetProtectsFromOneOperationAlone(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	b.budget(4, 0, func(b *policyv1beta1.PodUnavailableBudget) {
		b.Annotations = map[string]string{"kruise.io/pub-protect-operations": "DELETE"}
	})
	require.NoError(t, b.evict("p-0"))
	require.True(t, apierrors.IsForbidden(b.remove("p-1")))
	assert.Empty(t, b.status().DisruptedPods)
}

// Case podunavailablebudget 10.
func TestUpdateIsRecordedOnce(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	b.budget(4, 2)
	eventually(t, func() bool { return time.Since(mustPod(t, b, "p-0").CreationTimestamp.Time) > 4*time.Second })
	require.NoError(t, b.image("p-0", "kruise.local/demo:v2"))
	require.NoError(t, b.image("p-0", "kruise.local/demo:v3"))
	status := b.status()
	assert.Contains(t, status.UnavailablePods, "p-0")
	assert.Len(t, status.UnavailablePods, 1)
	assert.EqualValues(t, 1, status.UnavailableAllowed)
	b.settled(func(s policyv1beta1.PodUnavailableBudgetStatus) bool {
		return s.CurrentAvailable == 4 && len(s.UnavailablePods) == 0 && s.UnavailableAllowed == 2
	})
}

// refuseEvictions makes kube-apiserver refuse every eviction after the review of the budgets.
func refuseEvictions(t *testing.T, b *budgeted) {
	t.Helper()
	_, err := b.kube.PolicyV1().PodDisruptionBudgets(b.namespace).Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt(100)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// The budget grants the eviction, but a PodDisruptionBudget refuses it.
// Case podunavailablebudget 12.
func TestGrantWithoutItsDeletionExpires(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	b.budget(4, 2)
	refuseEvictions(t, b)
	require.True(t, apierrors.IsTooManyRequests(b.evict("p-0")))
	assert.Contains(t, b.status().DisruptedPods, "p-0")
	b.settled(func(s policyv1beta1.PodUnavailableBudgetStatus) bool {
		return len(s.DisruptedPods) == 0 && s.UnavailableAllowed == 2
	})
	var told []string
	eventually(t, func() bool {
		told = b.events("Pod", "NotDeleted")
		return len(told) > 0
	})
	assert.Len(t, told, 1)
}

// A granted deletion may still be in progress when the budget is recreated, or when another budget takes over.
// Case podunavailablebudget 27a.
func TestGrantsInFlightOutliveTheirBudget(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	b.budget(4, 2)
	refuseEvictions(t, b)
	require.True(t, apierrors.IsTooManyRequests(b.evict("p-0")))
	budgets := env.kruise.PolicyV1beta1().PodUnavailableBudgets(b.namespace)
	// A grant is for a moment. This one gets a time in the future, so that it does not expire before the test ends.
	granted := metav1.NewTime(time.Now().Add(time.Hour)).Rfc3339Copy()
	old, err := budgets.Patch(t.Context(), "b", types.MergePatchType,
		fmt.Appendf(nil, `{"status":{"disruptedPods":{"p-0":%q}}}`, granted.UTC().Format(time.RFC3339)), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.NoError(t, budgets.Delete(t.Context(), "b", metav1.DeleteOptions{}))
	for _, name := range []string{"b", "a"} { // a sorts before b, and takes over from it
		fresh := old.DeepCopy()
		fresh.ObjectMeta = metav1.ObjectMeta{Name: name}
		if name == "a" { // the same Pods by another selector, which is no conflict
			fresh.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "other", Operator: metav1.LabelSelectorOpDoesNotExist}}
		}
		_, err = budgets.Create(t.Context(), fresh, metav1.CreateOptions{})
		require.NoError(t, err)
		eventually(t, func() bool {
			current, err := budgets.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return false
			}
			carried := current.Status.DisruptedPods["p-0"]
			return current.Status.CurrentAvailable == 3 && carried.Equal(&granted)
		})
	}
}

// Case podunavailablebudget 27.
func TestNewBudgetTakesOverPods(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	b.budget(3, 0)
	budgets := env.kruise.PolicyV1beta1().PodUnavailableBudgets(b.namespace)
	old, err := budgets.Get(t.Context(), "b", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, budgets.Delete(t.Context(), "b", metav1.DeleteOptions{}))
	eventually(t, func() bool { return mustPod(t, b, "p-0").Annotations["kruise.io/related-pub"] == "" })
	require.NoError(t, b.remove("p-2"))
	old.ObjectMeta = metav1.ObjectMeta{Name: "c"}
	_, err = budgets.Create(t.Context(), old, metav1.CreateOptions{})
	require.NoError(t, err)
	b.governed("c", 2)
	eventually(t, func() bool { return apierrors.IsForbidden(b.remove("p-0", metav1.DryRunAll)) })
	require.NoError(t, budgets.Delete(t.Context(), "c", metav1.DeleteOptions{}))
	eventually(t, func() bool {
		namespace, err := b.kube.CoreV1().Namespaces().Get(t.Context(), b.namespace, metav1.GetOptions{})
		return err == nil && namespace.Labels["policy.kruise.io/pod-unavailable-budgets"] == ""
	})
}
