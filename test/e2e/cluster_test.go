//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestGarbageCollection lets the cluster's garbage collector delete the Pods of a deleted CloneSet.
func TestGarbageCollection(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	e.kubectl("delete", "cloneset", "web", "--wait")
	e.eventually("Pods and revisions go", func(c *require.Assertions, ctx context.Context) {
		pods, err := e.core.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Empty(pods.Items)
		revisions, err := e.core.AppsV1().ControllerRevisions(e.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Empty(revisions.Items)
	})
}

// TestForegroundDeletion keeps the CloneSet until its Pods are gone.
func TestForegroundDeletion(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	e.kubectl("delete", "cloneset", "web", "--cascade=foreground", "--wait")
	assert.Empty(t, e.pods("web"))
}

// TestNamespaceDeletion ends, with nothing of the namespace left.
func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	e.kubectl("delete", "namespace", e.namespace, "--wait=false")
	e.eventually("the namespace goes", func(c *require.Assertions, ctx context.Context) {
		_, err := e.core.CoreV1().Namespaces().Get(ctx, e.namespace, metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err), "namespace: %v", err)
	})
	_, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "CloneSet: %v", err)
}

// TestScaleFieldOwnership shows that a write through /scale takes over spec.replicas as it does for a Deployment.
func TestScaleFieldOwnership(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	deployment := strings.NewReplacer("apps.kruise.io/v1alpha1", "apps/v1", "CloneSet", "Deployment",
		"  updateStrategy:\n    type: InPlaceIfPossible\n    maxUnavailable: 1\n", "").Replace(manifest("web"))
	conflicts := map[string]string{}
	for kind, text := range map[string]string{"clonesets.apps.kruise.io": manifest("web"), "deployments.apps": deployment} {
		e.apply(text, "--server-side", "--field-manager=owner")
		e.kubectl("scale", kind, "web", "--replicas=2")
		conflict := e.refused(text, "apply", "-f", "-", "--server-side", "--field-manager=owner")
		assert.Contains(t, conflict, ".spec.replicas", kind)
		conflicts[kind], _, _ = strings.Cut(conflict, " using ")
	}
	assert.Equal(t, conflicts["deployments.apps"], conflicts["clonesets.apps.kruise.io"])
}

// TestScaleSubresource reads and writes /scale with the generic type, selector included.
func TestScaleSubresource(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	var scale autoscalingv1.Scale
	raw := e.kubectl("get", "cloneset", "web", "--subresource=scale", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(raw), &scale))
	assert.EqualValues(t, 3, scale.Spec.Replicas)
	assert.EqualValues(t, 3, scale.Status.Replicas)
	assert.Equal(t, "app=web", scale.Status.Selector)
	refused := e.refused("", "scale", "cloneset", "web", "--replicas=1", "--current-replicas=7")
	assert.Contains(t, refused, "7")
}

const autoscaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: web}
  minReplicas: 1
  maxReplicas: 3
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
  behavior:
    scaleDown: {stabilizationWindowSeconds: 0}
`

// TestHorizontalPodAutoscaler lets HPA v2 scale a CloneSet on CPU, up to its bound under load and down to it without.
// A busy Pod that the selector excludes does not count.
func TestHorizontalPodAutoscaler(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "replicas: 3", "replicas: 1", "cpu: 10m", "cpu: 40m"))
	e.ready("web", 1)
	e.kubectl("run", "stranger", "--image=kruise.local/demo:v1", "--labels=app=stranger", "--image-pull-policy=IfNotPresent",
		"--overrides", `{"spec":{"containers":[{"name":"stranger","image":"kruise.local/demo:v1",`+
			`"imagePullPolicy":"IfNotPresent","env":[{"name":"BURN_MILLICORES","value":"400"}],`+
			`"resources":{"requests":{"cpu":"40m"}}}]}}`)
	e.apply(autoscaler)
	e.eventually("the autoscaler reads the metric of the one idle Pod", func(c *require.Assertions, ctx context.Context) {
		hpa, err := e.core.AutoscalingV2().HorizontalPodAutoscalers(e.namespace).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		c.Len(hpa.Status.CurrentMetrics, 1)
		c.NotNil(hpa.Status.CurrentMetrics[0].Resource)
		c.NotNil(hpa.Status.CurrentMetrics[0].Resource.Current.AverageUtilization)
		c.Less(*hpa.Status.CurrentMetrics[0].Resource.Current.AverageUtilization, int32(50))
		c.EqualValues(1, hpa.Status.DesiredReplicas)
	})
	assert.EqualValues(t, 1, *e.cloneSet("web").Spec.Replicas)

	e.kubectl("patch", "cloneset", "web", "--type=strategic", "-p",
		`{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"BURN_MILLICORES","value":"400"}]}]}}}}`)
	e.ready("web", 3)
	e.kubectl("patch", "cloneset", "web", "--type=strategic", "-p",
		`{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"BURN_MILLICORES","value":"0"}]}]}}}}`)
	e.ready("web", 1)
}

// TestDrain shows that draining a node waits for a PodDisruptionBudget over a CloneSet, and that the Pods move.
func TestDrain(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("drained"))
	e.ready("drained", 3)
	e.apply("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n" +
		"spec: {maxUnavailable: 0, selector: {matchLabels: {app: drained}}}\n")
	e.eventually("the budget knows the CloneSet's size", func(c *require.Assertions, ctx context.Context) {
		budget, err := e.core.PolicyV1().PodDisruptionBudgets(e.namespace).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		c.EqualValues(3, budget.Status.ExpectedPods)
		c.EqualValues(3, budget.Status.CurrentHealthy)
	})
	pod := e.pods("drained")[0]
	node := pod.Spec.NodeName
	t.Cleanup(func() {
		_ = e.command(context.WithoutCancel(t.Context()), "uncordon", node).Run()
	})
	drain := []string{"drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--pod-selector=app=drained"}
	assert.Contains(t, e.refused("", append(drain, "--timeout=5s")...), "disruption budget")
	_, err := e.core.CoreV1().Pods(e.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	require.NoError(t, err, "the Pod under the budget stays")

	_, err = e.core.PolicyV1().PodDisruptionBudgets(e.namespace).Patch(t.Context(), "web", types.MergePatchType,
		[]byte(`{"spec":{"maxUnavailable":1}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	e.kubectl(append(drain, "--timeout=120s")...)
	e.ready("drained", 3)
	for _, moved := range e.pods("drained") {
		assert.NotEqual(t, node, moved.Spec.NodeName, moved.Name)
		assert.Equal(t, corev1.PodRunning, moved.Status.Phase)
	}
}
