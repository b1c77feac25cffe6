//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const exhausted = "pub unavailable allowed is negative"

// budget creates a budget for a workload, and waits until the budget has counted the Pods and the Pods name it.
func (e *env) budget(apiVersion, kind, name, bound string, pods int) {
	e.t.Helper()
	e.apply("apiVersion: policy.kruise.io/v1alpha1\nkind: PodUnavailableBudget\nmetadata: {name: " + name + "}\nspec:\n" +
		"  targetRef: {apiVersion: " + apiVersion + ", kind: " + kind + ", name: " + name + "}\n  " + bound + "\n")
	e.eventually("the budget has counted", func(c *require.Assertions, ctx context.Context) {
		budget, err := e.kruise.PolicyV1beta1().PodUnavailableBudgets(e.namespace).Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		c.EqualValues(pods, budget.Status.CurrentAvailable)
		for _, pod := range e.pods(name) {
			c.Equal(name, pod.Annotations["kruise.io/related-pub"])
		}
		namespace, err := e.core.CoreV1().Namespaces().Get(ctx, e.namespace, metav1.GetOptions{})
		c.NoError(err)
		c.Equal("true", namespace.Labels["policy.kruise.io/pod-unavailable-budgets"])
	})
}

func (e *env) budgetSpec(name, patch string) {
	e.t.Helper()
	_, err := e.kruise.PolicyV1beta1().PodUnavailableBudgets(e.namespace).Patch(e.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(e.t, err)
}

// TestDrainUnderABudget checks that kubectl drain retries, as it does for a PodDisruptionBudget, until the budget allows the
// eviction.
func TestDrainUnderABudget(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("budgeted"))
	e.ready("budgeted", 3)
	e.budget("apps.kruise.io/v1alpha1", "CloneSet", "budgeted", "maxUnavailable: 0", 3)
	lines := strings.Split(strings.TrimSpace(e.kubectl("get", "pub")), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, []string{"budgeted", "0", "3", "3", "3"}, strings.Fields(lines[1]))

	pod := e.pods("budgeted")[0]
	node := pod.Spec.NodeName
	e.cordons(node)
	drain := []string{"drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--pod-selector=app=budgeted"}
	out := e.refused("", append(drain, "--timeout=20s")...)
	assert.Contains(t, out, exhausted)
	assert.Contains(t, out, "will retry after 5s")
	_, err := e.core.CoreV1().Pods(e.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	require.NoError(t, err, "the Pod under the budget stays")
	assert.Contains(t, e.refused("", "delete", "pod", pod.Name), exhausted)
	e.eventually("events tell", func(c *require.Assertions, _ context.Context) {
		c.Contains(e.kubectl("events", "--for=pod/"+pod.Name), "PubPreventPodDeletion")
		c.Contains(e.kubectl("events", "--for=podunavailablebudget.policy.kruise.io/budgeted"), "PubPreventPodDeletion")
	})

	e.budgetSpec("budgeted", `{"spec":{"maxUnavailable":1}}`)
	e.kubectl(append(drain, "--timeout=3m")...)
	e.ready("budgeted", 3)
}

// TestRolloutRestartUnderABudget checks that the budget allows one Pod at a time, although the Deployment would replace three.
func TestRolloutRestartUnderABudget(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(strings.NewReplacer("apps.kruise.io/v1alpha1", "apps/v1", "CloneSet", "Deployment", "replicas: 3", "replicas: 4",
		"  updateStrategy:\n    type: InPlaceIfPossible\n    maxUnavailable: 1\n",
		"  strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 3, maxSurge: 0}}\n").Replace(manifest("restarted")))
	e.kubectl("rollout", "status", "deployment/restarted", "--timeout=3m")
	e.budget("apps/v1", "Deployment", "restarted", "maxUnavailable: 1", 4)
	seen := e.observe([]stress{{name: "restarted", replicas: 4, maxSurge: 4, maxUnavailable: 1}})
	e.kubectl("rollout", "restart", "deployment/restarted")
	e.kubectl("rollout", "status", "deployment/restarted", "--timeout=10m")
	seen.report(t)
}

// TestUpdatesInPlaceKeepToTheBudget checks that the budget allows three Pods at a time, although the CloneSet would update all
// Pods at once.
// Case podunavailablebudget 28.
func TestUpdatesInPlaceKeepToTheBudget(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("inplace", "replicas: 3", "replicas: 10", "maxUnavailable: 1", "maxUnavailable: 100%"))
	e.ready("inplace", 10)
	e.budget("apps.kruise.io/v1alpha1", "CloneSet", "inplace", "maxUnavailable: 30%", 10)
	before := restarts(e.pods("inplace"))
	seen := e.observe([]stress{{name: "inplace", replicas: 10, maxUnavailable: 3}})
	e.image("inplace", "kruise.local/demo:v2")
	set := e.ready("inplace", 10)
	seen.report(t)
	assert.Empty(t, set.Status.Conditions)
	after := restarts(e.pods("inplace"))
	require.Len(t, after, len(before))
	for container := range before {
		assert.Contains(t, after, container, "the same Pods")
	}
	assert.NotContains(t, e.kubectl("events"), "FailedUpdatePodInPlace")
}

// Cases podunavailablebudget 13, 26.
func TestScaleDownAndDeletionUnderABudget(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("shrunk", "replicas: 3", "replicas: 6"))
	e.ready("shrunk", 6)
	e.budget("apps.kruise.io/v1alpha1", "CloneSet", "shrunk", "maxUnavailable: 30%", 6)
	e.kubectl("scale", "cloneset", "shrunk", "--replicas=3")
	e.ready("shrunk", 3)
	e.eventually("the budget counts from fewer", func(c *require.Assertions, ctx context.Context) {
		budget, err := e.kruise.PolicyV1beta1().PodUnavailableBudgets(e.namespace).Get(ctx, "shrunk", metav1.GetOptions{})
		c.NoError(err)
		c.EqualValues(3, budget.Status.TotalReplicas)
	})
	e.budgetSpec("shrunk", `{"spec":{"maxUnavailable":null,"minAvailable":2}}`)
	e.kubectl("delete", "cloneset", "shrunk", "--wait")
	e.eventually("the Pods go with their workload", func(c *require.Assertions, _ context.Context) { c.Empty(e.pods("shrunk")) })
}

// deploymentManifest returns a Deployment of the demo image. edits is the rest of its Pod spec.
func deploymentManifest(name string, replicas int, edits string) string {
	return sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
%[3]s`, name, replicas, edits)
}

// budgetsInAnOutage checks that requests which no budget concerns continue without delay, and so do those that every budget allows. The
// others are rejected, as the chart documents.
func budgetsInAnOutage(t *testing.T, o *outage) {
	e, free := newEnv(t), newEnv(t)
	e.apply(manifest("held"))
	e.ready("held", 3)
	e.budget("apps.kruise.io/v1alpha1", "CloneSet", "held", "maxUnavailable: 50%", 3)
	plain := func(e *env, names ...string) {
		for _, name := range names {
			_, err := e.core.CoreV1().Pods(e.namespace).Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "kruise.local/demo:v1", ImagePullPolicy: corev1.PullIfNotPresent}}},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
	remove := func(e *env, name string) error {
		return e.core.CoreV1().Pods(e.namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
	}
	evict := func(e *env, name string) error {
		return e.core.PolicyV1().Evictions(e.namespace).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: e.namespace}})
	}
	plain(free, "a", "b")
	plain(e, "a", "b")
	e.apply(deploymentManifest("broken", 1, "        readinessProbe: {tcpSocket: {port: 1}}\n"))
	e.eventually("a Pod that is never ready runs", func(c *require.Assertions, _ context.Context) {
		pods := e.pods("broken")
		c.Len(pods, 1)
		c.Equal(corev1.PodRunning, pods[0].Status.Phase)
	})
	e.budget("apps/v1", "Deployment", "broken", "maxUnavailable: 0", 0)
	broken := e.pods("broken")[0].Name
	unprotected := e.pods("held")[1].Name

	o.begin(t)

	began := time.Now()
	require.NoError(t, remove(free, "a"))
	require.NoError(t, evict(free, "b"))
	require.NoError(t, remove(e, "a"), "no annotation, nobody is asked")
	plain(e, "c")
	t.Logf("five requests that do not concern a budget took %v during the outage", time.Since(began).Round(time.Millisecond))

	require.NoError(t, remove(e, broken), "a Pod that is not ready")
	e.eventually("the Pod that is not ready is replaced", func(c *require.Assertions, _ context.Context) {
		pods := e.pods("broken")
		c.Len(pods, 1)
		c.NotEqual(broken, pods[0].Name)
	})
	require.Error(t, remove(e, unprotected))
	e.kubectl("annotate", "pod", unprotected, "pub.kruise.io/no-protect=true")
	require.NoError(t, remove(e, unprotected), "a Pod without protection")
	held := e.pods("held")[0].Name
	for what, err := range map[string]error{
		"a Pod under a budget": remove(e, held), "its eviction": evict(e, held), "an eviction beside it": evict(e, "b"),
	} {
		require.Error(t, err, what)
		assert.True(t, apierrors.IsInternalError(err), "%s: %v", what, err)
	}
	o.end(t)
	e.eventually("the budget lets a Pod go again", func(c *require.Assertions, _ context.Context) { c.NoError(remove(e, held)) })
	e.ready("held", 3)
}
