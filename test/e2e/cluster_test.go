//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestGarbageCollection checks that the cluster's garbage collector deletes the Pods of a deleted CloneSet.
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

// TestUserManifestRuns checks that a manifest with the image pull policy Always runs. Always is also the default for the tag
// latest. The local cluster's registry has the demo images. Its default StorageClass has the name that other local clusters use.
func TestUserManifestRuns(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(strings.Replace(manifest("web", "  template:", "  volumeClaimTemplates:\n  - metadata: {name: data}\n"+
		"    spec: {storageClassName: standard, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n  template:"),
		"        imagePullPolicy: IfNotPresent\n", "        imagePullPolicy: Always\n", 1))
	e.ready("web", 3)
	assert.NotContains(t, e.podEvents(), "ErrImagePull")
}

// TestForegroundDeletion checks that the CloneSet exists until its Pods are deleted.
func TestForegroundDeletion(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	e.kubectl("delete", "cloneset", "web", "--cascade=foreground", "--wait")
	left, err := e.core.CoreV1().Pods(e.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, left.Items, "not even Pods that are being deleted")
}

// TestNamespaceDeletion checks that the deletion of a namespace completes and leaves nothing behind.
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

// TestScaleFieldOwnership checks that a write through /scale takes over the ownership of spec.replicas, as it does for a
// Deployment.
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

// TestScaleSubresource reads and writes /scale with the generic type, including the selector.
// Case cloneset 34.
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
  maxReplicas: 6
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: AverageValue, averageValue: 50m}}
  behavior:
    scaleDown: {stabilizationWindowSeconds: 20}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
`

// TestHorizontalPodAutoscaler lets HPA v2 scale a CloneSet on CPU. With a load that all Pods share, the number of Pods settles
// between the bounds. Without load, it returns to the lower bound. A busy Pod that the selector excludes does not count.
// Case cloneset 34.
func TestHorizontalPodAutoscaler(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	// With a larger request, the Pods get the CPU for the load although other programs of the machine need it too.
	e.apply(manifest("web", "replicas: 3", "replicas: 1", "cpu: 10m", "cpu: 250m"))
	e.ready("web", 1)
	e.kubectl("run", "stranger", "--image=kruise.local/demo:v1", "--labels=app=stranger", "--image-pull-policy=IfNotPresent",
		"--env=BURN_MILLICORES=400")
	e.apply(autoscaler)
	e.eventually("the autoscaler reads the metric of the one idle Pod", func(c *require.Assertions, ctx context.Context) {
		c.Less(e.autoscaled(ctx, c), int64(50))
	})
	assert.EqualValues(t, 1, *e.cloneSet("web").Spec.Replicas)

	stop := e.load(5, 40)
	defer stop()
	e.eventually("the number is between the bounds and the load below the target", func(c *require.Assertions, ctx context.Context) {
		c.LessOrEqual(e.autoscaled(ctx, c), int64(55), "millicores of a Pod, at most a tenth over the target")
		set, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		c.Greater(set.Status.ReadyReplicas, int32(1))
		c.Less(set.Status.ReadyReplicas, int32(6))
		c.Equal(*set.Spec.Replicas, set.Status.ReadyReplicas)
	})
	stop()
	e.ready("web", 1)
}

// autoscaled returns the average CPU use per Pod, in millicores, on which the autoscaler bases its decision.
func (e *env) autoscaled(ctx context.Context, c *require.Assertions) int64 {
	hpa, err := e.core.AutoscalingV2().HorizontalPodAutoscalers(e.namespace).Get(ctx, "web", metav1.GetOptions{})
	c.NoError(err)
	c.Len(hpa.Status.CurrentMetrics, 1)
	c.NotNil(hpa.Status.CurrentMetrics[0].Resource)
	c.NotNil(hpa.Status.CurrentMetrics[0].Resource.Current.AverageValue)
	return hpa.Status.CurrentMetrics[0].Resource.Current.AverageValue.MilliValue()
}

// load keeps a number of requests in progress until the returned function is called or the test ends. Each request burns the
// given millicores in one of the Service's Pods.
func (e *env) load(requests, millicores int) (stop func()) {
	e.t.Helper()
	service, err := e.core.CoreV1().Services(e.namespace).Get(e.t.Context(), "web", metav1.GetOptions{})
	require.NoError(e.t, err)
	url := sprintf("http://%s/burn?seconds=1&millicores=%d", service.Spec.ClusterIP, millicores)
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	// The client opens a connection for each request, because the Service balances connections.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var group sync.WaitGroup
	for range requests {
		group.Go(func() {
			for ctx.Err() == nil {
				burn(ctx, client, url)
			}
		})
	}
	return func() {
		cancel()
		group.Wait()
	}
}

// burn makes one request. Its result is ignored, because its effect shows in the metrics.
func burn(ctx context.Context, client *http.Client, url string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return
	}
	response, err := client.Do(request)
	if err != nil {
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
		return
	}
	_ = response.Body.Close()
}

// cordoned is held by the one test that cordons a node. Tests in parallel would uncordon each other's node.
var cordoned sync.Mutex

// cordons lets the test cordon the node, which is uncordoned at the end of the test.
func (e *env) cordons(node string) {
	cordoned.Lock()
	e.t.Cleanup(func() {
		defer cordoned.Unlock()
		_ = e.command(context.WithoutCancel(e.t.Context()), "uncordon", node).Run()
	})
}

// TestDrain checks that draining a node waits for a PodDisruptionBudget of a CloneSet, and that the Pods move.
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
	e.cordons(node)
	drain := []string{"drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--pod-selector=app=drained"}
	assert.Contains(t, e.refused("", append(drain, "--timeout=20s")...), "disruption budget")
	_, err := e.core.CoreV1().Pods(e.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	require.NoError(t, err, "the Pod under the budget stays")

	_, err = e.core.PolicyV1().PodDisruptionBudgets(e.namespace).Patch(t.Context(), "web", types.MergePatchType,
		[]byte(`{"spec":{"maxUnavailable":1}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	e.kubectl(append(drain, "--timeout=3m")...)
	e.ready("drained", 3)
	for _, moved := range e.pods("drained") {
		assert.NotEqual(t, node, moved.Spec.NodeName, moved.Name)
		assert.Equal(t, corev1.PodRunning, moved.Status.Phase)
	}
}
