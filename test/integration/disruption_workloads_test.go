//go:build integration

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/pub"
)

// counts are the total, desired, current and allowed numbers of a budget.
type counts [4]int32

// deployment creates a Deployment whose Pods cannot be scheduled, and marks them as ready.
func (b *budgeted) deployment(name string, replicas int, strategy string) {
	b.t.Helper()
	b.apply(fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  strategy: {type: %[3]s}
  selector: {matchLabels: {set: %[1]s}}
  template:
    metadata: {labels: {set: %[1]s, app: web}}
    spec: {nodeSelector: {no: such-node}, containers: [{name: web, image: "kruise.local/demo:v1"}]}
`, name, replicas, strategy))
	var pods []corev1.Pod
	eventually(b.t, func() bool {
		pods = b.pods("set=" + name)
		return len(pods) == replicas
	})
	for i := range pods {
		_, err := b.ready(pods[i].Name)
		require.NoError(b.t, err)
	}
}

func (b *budgeted) apply(manifest string) {
	b.t.Helper()
	out, err := kubectl(b.t, manifest, "--namespace", b.namespace, "apply", "-f", "-")
	require.NoError(b.t, err, out)
}

func (b *budgeted) pods(selector string) []corev1.Pod {
	b.t.Helper()
	list, err := b.kube.CoreV1().Pods(b.namespace).List(b.t.Context(), metav1.ListOptions{LabelSelector: selector})
	require.NoError(b.t, err)
	return list.Items
}

// bounds creates a budget, and waits until it has these counts and its Pods are annotated.
func (b *budgeted) bounds(name, spec, selector string, want counts) {
	b.t.Helper()
	b.apply("apiVersion: policy.kruise.io/v1beta1\nkind: PodUnavailableBudget\nmetadata: {name: " + name + "}\nspec: " + spec + "\n")
	b.counts(name, want)
	eventually(b.t, func() bool {
		for _, pod := range b.pods(selector) {
			if pod.Annotations[pub.RelatedPubKeyNew] != name {
				return false
			}
		}
		return true
	})
}

func (b *budgeted) counts(name string, want counts) {
	b.t.Helper()
	var have counts
	defer func() { assert.Equal(b.t, want, have, name) }()
	eventually(b.t, func() bool {
		budget, err := env.kruise.PolicyV1beta1().PodUnavailableBudgets(b.namespace).Get(b.t.Context(), name, metav1.GetOptions{})
		require.NoError(b.t, err)
		s := budget.Status
		have = counts{s.TotalReplicas, s.DesiredAvailable, s.CurrentAvailable, s.UnavailableAllowed}
		return have == want
	})
}

// If a client deletes all Pods of a Deployment one after another, only as many are deleted as the budget allows.
// Cases podunavailablebudget 1, 2, 14, 15, 16.
func TestBudgetsOfDeployments(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	tests := map[string]struct {
		bound string
		want  counts
	}{
		"30% of 10": {"maxUnavailable: 30%", counts{10, 7, 10, 3}},
		"80% of 7":  {"minAvailable: 80%", counts{7, 6, 7, 1}},
		"10% of 3":  {"maxUnavailable: 10%", counts{3, 2, 3, 1}},
		"100%":      {"maxUnavailable: 100%", counts{3, 0, 3, 3}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := *b
			b.t = t
			set := "set-" + strings.Trim(strings.Map(func(r rune) rune {
				if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
					return r
				}
				return '-'
			}, name), "-")
			total, allowed := tt.want[0], tt.want[3]
			b.deployment(set, int(total), "RollingUpdate")
			b.bounds(set, "{targetRef: {apiVersion: apps/v1, kind: Deployment, name: "+set+"}, "+tt.bound+"}", "set="+set, tt.want)
			deleted := int32(0)
			for _, pod := range b.pods("set=" + set)[:total] {
				err := b.remove(pod.Name)
				if err == nil {
					deleted++
					continue
				}
				require.True(t, apierrors.IsForbidden(err), "%v", err)
				assert.ErrorContains(t, err, exhausted)
				assert.ErrorContains(t, err, b.namespace+"/"+set)
			}
			assert.Equal(t, allowed, deleted)
			b.counts(set, counts{total, tt.want[1], total - deleted, 0})
		})
	}
}

// TestOneBudgetCoversTwoDeployments checks that a budget with a selector counts the replicas of both Deployments.
// Case podunavailablebudget 17.
func TestOneBudgetCoversTwoDeployments(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	b.deployment("left", 3, "RollingUpdate")
	b.deployment("right", 4, "RollingUpdate")
	b.bounds("both", "{selector: {matchLabels: {app: web}}, maxUnavailable: 2}", "app=web", counts{7, 5, 7, 2})
	b.reviewed("both")
	require.NoError(t, b.remove(b.pods("set=left")[0].Name))
	require.NoError(t, b.evict(b.pods("set=right")[0].Name))
	for _, set := range []string{"set=left", "set=right"} {
		refused := 0
		for _, pod := range b.pods(set) {
			if ready(&pod) {
				refused++
				require.True(t, apierrors.IsForbidden(b.remove(pod.Name)), set)
			}
		}
		assert.Positive(t, refused)
	}
	b.counts("both", counts{7, 5, 5, 0})
}

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// TestPodsOfAnOldReplicaSetStayCounted checks that the budget still counts and protects Pods that the Deployment no longer wants.
// Case podunavailablebudget 18.
func TestPodsOfAnOldReplicaSetStayCounted(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	b.deployment("x", 2, "Recreate")
	const target = "{targetRef: {apiVersion: apps/v1, kind: Deployment, name: x}, "
	b.bounds("x", target+"maxUnavailable: 0}", "set=x", counts{2, 2, 2, 0})
	old := b.pods("set=x")
	mustKubectl(t, "--namespace", b.namespace, "set", "image", "deployment/x", "web=kruise.local/demo:v2")
	eventually(t, func() bool {
		set, err := b.kube.AppsV1().ReplicaSets(b.namespace).Get(t.Context(), old[0].OwnerReferences[0].Name, metav1.GetOptions{})
		return err == nil && *set.Spec.Replicas == 0
	})
	eventually(t, func() bool { return len(b.events("Pod", "PubPreventPodDeletion")) > 0 })
	for _, pod := range old {
		require.True(t, apierrors.IsForbidden(b.remove(pod.Name)))
	}
	b.counts("x", counts{2, 2, 2, 0})

	b.apply("apiVersion: policy.kruise.io/v1beta1\nkind: PodUnavailableBudget\nmetadata: {name: x}\nspec: " + target + "maxUnavailable: 100%}\n")
	eventually(t, func() bool { // the Deployment goes on
		pods := b.pods("set=x")
		return len(pods) == 2 && pods[0].Spec.Containers[0].Image == "kruise.local/demo:v2"
	})
}

// games adds a custom kind Game<plural> of workloads, which the accounts may get.
func (b *budgeted) games(readers ...string) (plural string) {
	t := b.t
	t.Helper()
	plural = "games" + strings.ReplaceAll(b.namespace, "-", "")
	b.apply(fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: %[1]s, kind: Game%[1]s}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules: [{apiGroups: [example.com], resources: [%[1]s, %[1]s/scale], verbs: [get]}]
`, plural))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = env.kube.RbacV1().ClusterRoles().Delete(ctx, plural, metav1.DeleteOptions{})
		for account := range accounts {
			_ = env.kube.RbacV1().ClusterRoleBindings().Delete(ctx, plural+"-"+account, metav1.DeleteOptions{})
		}
		_, _ = kubectl(t, "", "delete", "customresourcedefinition", plural+".example.com", "--wait=false")
	})
	for _, account := range readers {
		require.NoError(t, bind(t.Context(), plural+"-"+account, plural, account))
	}
	established(t, plural+".example.com")
	return plural
}

// TestBudgetCoversCustomWorkloadByItsScale covers Pods that the workload selects by its scale but does not own.
// Case podunavailablebudget 19.
func TestBudgetCoversCustomWorkloadByItsScale(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	plural := b.games("kruise-manager", "kruise-apiserver")
	game := "apiVersion: example.com/v1\nkind: Game" + plural + "\nmetadata: {name: chess}\nspec: {replicas: 5}\nstatus: {replicas: 3, selector: app=web}\n"
	eventually(t, func() bool {
		_, err := kubectl(t, game, "--namespace", b.namespace, "apply", "-f", "-")
		return err == nil
	})
	for i := range 3 {
		_, err := b.pod(fmt.Sprintf("p-%d", i))
		require.NoError(t, err)
	}
	b.bounds("chess", "{targetRef: {apiVersion: example.com/v1, kind: Game"+plural+", name: chess}, maxUnavailable: 60%}", "app=web", counts{5, 2, 3, 1})
	require.NoError(t, b.remove("p-0"))
	require.True(t, apierrors.IsForbidden(b.remove("p-1")))
	b.counts("chess", counts{5, 2, 2, 0})
}

// Cases podunavailablebudget 20, 21, 22: what cannot be a budget is refused, and why.
func TestInvalidBudgetsAreRefused(t *testing.T) {
	t.Parallel()
	b := withBudgets(t)
	const head = "apiVersion: policy.kruise.io/v1alpha1\nkind: PodUnavailableBudget\nmetadata: {name: %s}\nspec: "
	b.apply(fmt.Sprintf(head, "target") + "{targetRef: {apiVersion: apps/v1, kind: Deployment, name: x}, maxUnavailable: 1}")
	b.apply(fmt.Sprintf(head, "selector") + "{selector: {matchLabels: {a: '1'}}, maxUnavailable: 1}")
	b.apply(fmt.Sprintf(head, "beside") + "{selector: {matchLabels: {b: '1'}}, maxUnavailable: 1}") // May be other Pods.
	for name, tt := range map[string]struct{ budget, spec, says string }{
		"the same target":  {"new", "{targetRef: {apiVersion: apps/v1beta1, kind: Deployment, name: x}, maxUnavailable: 1}", "PodUnavailableBudget target already has this target"},
		"another target":   {"target", "{targetRef: {apiVersion: apps/v1, kind: Deployment, name: other}, maxUnavailable: 1}", "spec.targetRef"},
		"another selector": {"selector", "{selector: {matchLabels: {a: '2'}}, maxUnavailable: 1}", "spec.selector"},
		"the same Pods":    {"new", "{selector: {matchExpressions: [{key: a, operator: In, values: ['1', '2']}]}, maxUnavailable: 1}", "spec.selector"},
		"no bound":         {"new", "{selector: {matchLabels: {c: '1'}}}", "minAvailable"},
		"both bounds":      {"new", "{selector: {matchLabels: {c: '1'}}, minAvailable: 1, maxUnavailable: 1}", "minAvailable"},
		"101%":             {"new", "{selector: {matchLabels: {c: '1'}}, maxUnavailable: 101%}", "spec.maxUnavailable"},
		"-1":               {"new", "{selector: {matchLabels: {c: '1'}}, maxUnavailable: -1}", "spec.maxUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := kubectl(t, fmt.Sprintf(head, tt.budget)+tt.spec, "--namespace", b.namespace, "apply", "-f", "-")
			require.Error(t, err, out)
			assert.Contains(t, out, tt.says)
			assert.Contains(t, out, "invalid")
		})
	}
	budgets := env.kruise.PolicyV1beta1().PodUnavailableBudgets(b.namespace)
	_, err := budgets.Patch(t.Context(), "target", types.MergePatchType, []byte(`{"spec":{"maxUnavailable":2}}`), metav1.PatchOptions{})
	require.NoError(t, err, "how much it protects may change")
	list, err := budgets.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, 3)
}
