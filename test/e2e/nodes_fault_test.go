//go:build e2e && fault

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/hack/localcluster"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// idleNode returns a node that does not run the apiserver, and all other nodes.
func (e *env) idleNode(nodes []string) (idle string, others []string) {
	e.t.Helper()
	busy := map[string]bool{}
	for _, pod := range e.apiservers() {
		busy[pod.Spec.NodeName] = true
	}
	for _, node := range nodes {
		if idle == "" && !busy[node] {
			idle = node
		} else {
			others = append(others, node)
		}
	}
	require.NotEmpty(e.t, idle, "each node runs an apiserver")
	return idle, others
}

// taint adds a taint of the test to a node until the returned function is called, or the test ends.
func (e *env) taint(node string, effect corev1.TaintEffect) (remove func()) {
	e.t.Helper()
	text := fmt.Sprintf("e2e.kruise.io/taint=%s:%s", e.namespace, effect)
	e.kubectl("taint", "node", node, text)
	e.t.Cleanup(func() { _ = e.command(context.WithoutCancel(e.t.Context()), "taint", "node", node, text+"-").Run() })
	return func() { e.kubectl("taint", "node", node, text+"-") }
}

// A taint NoSchedule leaves the Pod of a DaemonSet, and keeps a job away. A taint NoExecute ends both Pods. All come back without it.
// Cases broadcastjob 14, 15.
// Cases daemonset 7, 8.
func TestTaintsMoveThePodsOfNodes(t *testing.T) {
	e := newEnv(t)
	nodes := e.choose()
	tainted, _ := e.idleNode(nodes)
	all := int32(len(nodes))
	e.apply(e.daemonManifest("ds"))
	e.daemonReady("ds", all)
	before := e.podOn(tainted).UID
	counts := func(name string, desired, active, succeeded int32) {
		t.Helper()
		e.broadcast(name, "counts", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
			c.Equal([]int32{desired, active, succeeded}, []int32{job.Status.Desired, job.Status.Active, job.Status.Succeeded})
			c.Equal(v1beta1.BroadcastJobRunning, job.Status.Phase)
		})
	}

	remove := e.taint(tainted, corev1.TaintEffectNoSchedule)
	e.apply(e.broadcastManifest("late", "1", "type: Always", "type: Never"))
	counts("late", all-1, 0, all-1)
	e.daemonStatus("a Pod is misscheduled", func(c *require.Assertions, set *v1beta1.DaemonSet) {
		c.Equal([]int32{all - 1, 1}, []int32{set.Status.DesiredNumberScheduled, set.Status.NumberMisscheduled})
	})
	assert.Equal(t, before, e.podOn(tainted).UID, "NoSchedule leaves the Pod")
	remove()
	counts("late", all, 0, all)
	e.daemonReady("ds", all)
	assert.Equal(t, before, e.podOn(tainted).UID)

	e.apply(e.broadcastManifest("long", "600"))
	counts("long", all, all, 0)
	remove = e.taint(tainted, corev1.TaintEffectNoExecute)
	counts("long", all-1, all-1, 0)
	e.daemonReady("ds", all-1)
	for _, app := range []string{"ds", "long"} {
		assert.NotContains(t, nodesOf(e.pods(app)), tainted)
	}
	remove()
	counts("long", all, all, 0)
	e.daemonReady("ds", all)
	assert.Equal(t, nodes, nodesOf(e.pods("late")), "the Pod that ended stays")
}

// Nodes that do not answer, and that the template leaves out, do not stop an update. A BroadcastJob ends a Pod on each of the others. When
// the node is back, its Pods are those of the newest templates.
// Case daemonset 28.
func TestDaemonSetIsUpdatedWhileANodeIsLost(t *testing.T) {
	e := newEnv(t)
	nodes := e.choose()
	lost, others := e.idleNode(nodes)
	e.apply(e.daemonManifest("ds"))
	e.daemonReady("ds", int32(len(nodes)))
	old := e.podOn(lost)

	_, cluster := localCluster(t)
	var number int
	_, err := fmt.Sscanf(lost, "node-%d", &number)
	require.NoError(t, err)
	require.NoError(t, cluster.KillNode(t.Context(), number))
	started := false
	start := func(ctx context.Context, cluster *localcluster.Cluster) error {
		if started {
			return nil
		}
		err := cluster.StartNode(ctx, number)
		started = err == nil
		return err
	}
	t.Cleanup(func() { assert.NoError(t, start(context.WithoutCancel(t.Context()), cluster)) })

	elsewhere := []string{"      nodeSelector:", sprintf(`      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions: [{key: kubernetes.io/hostname, operator: NotIn, values: [%s]}]
      nodeSelector:`, lost)}
	e.apply(e.daemonManifest("ds", append(elsewhere, "demo:v1", "demo:v2")...))
	e.daemonStatus("the other nodes are updated", func(c *require.Assertions, set *v1beta1.DaemonSet) {
		c.EqualValues(len(others), set.Status.DesiredNumberScheduled)
		c.EqualValues(len(others), set.Status.UpdatedNumberScheduled)
		c.EqualValues(len(others), set.Status.NumberAvailable)
	})
	pod, err := e.core.CoreV1().Pods(e.namespace).Get(t.Context(), old.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, old.UID, pod.UID)
	assert.NotNil(t, pod.DeletionTimestamp, "the Pod of the lost node never ends")

	require.NoError(t, start(t.Context(), cluster))
	e.gone(old)
	e.apply(e.daemonManifest("ds", "demo:v1", "demo:v2"))
	e.daemonReady("ds", int32(len(nodes)))
}

// The node of the only apiserver is lost, with a Pod that a budget governs. Kubernetes tries to evict a Pod from such a node only for a
// moment, so the eviction must not depend on the apiserver.
// Case podunavailablebudget 5a.
func TestBudgetedPodOfTheLostNodeOfTheAPIServerIsReplaced(t *testing.T) {
	e := newEnv(t)
	nodes := e.choose()
	servers := e.apiservers()
	require.Len(t, servers, 1)
	lost := servers[0].Spec.NodeName
	e.apply(deploymentManifest("web", len(nodes), sprintf(`      nodeSelector: {%[1]q: chosen}
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: DoNotSchedule
        nodeTaintsPolicy: Honor
        labelSelector: {matchLabels: {app: web}}
      tolerations:
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 20}
      - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 20}
`, e.nodeLabel())))
	ready := func(what string) {
		t.Helper()
		e.eventually(what, func(c *require.Assertions, ctx context.Context) {
			deployment, err := e.core.AppsV1().Deployments(e.namespace).Get(ctx, "web", metav1.GetOptions{})
			c.NoError(err)
			c.EqualValues(len(nodes), deployment.Status.AvailableReplicas)
			c.Equal(deployment.Generation, deployment.Status.ObservedGeneration)
		})
	}
	ready("a Pod runs on each node")
	e.budget("apps/v1", "Deployment", "web", "maxUnavailable: 1", len(nodes))
	victim := e.podOf("web", lost)

	_, cluster := localCluster(t)
	var number int
	_, err := fmt.Sscanf(lost, "node-%d", &number)
	require.NoError(t, err)
	require.NoError(t, cluster.KillNode(t.Context(), number))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		assert.NoError(t, cluster.StartNode(ctx, number))
		for _, args := range servesAgain {
			assert.NoError(t, e.command(ctx, append([]string{"--namespace=" + system}, args...)...).Run())
		}
	})
	e.eventually("the Pod of the lost node is evicted", func(c *require.Assertions, ctx context.Context) {
		pod, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, victim.Name, metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err) || err == nil && pod.DeletionTimestamp != nil, "%v", err)
	})
	_, err = e.kruise.PolicyV1beta1().PodUnavailableBudgets(e.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	require.Error(t, err, "the apiserver does not answer")
	ready("the Pod is replaced on another node")
	assert.NotContains(t, nodesOf(e.pods("web")), lost)
}

// podOf returns the Pod of an app on a node.
func (e *env) podOf(app, node string) *corev1.Pod {
	e.t.Helper()
	for _, pod := range e.pods(app) {
		if pod.Spec.NodeName == node {
			return &pod
		}
	}
	require.Fail(e.t, "no Pod", "%s on %s", app, node)
	return nil
}

// TestStatefulSetIsUpdatedWhileANodeReboots reboots the node of the first Pod that an update in place changes. All Pods stay, run the new
// image in the end, and find their files.
func TestStatefulSetIsUpdatedWhileANodeReboots(t *testing.T) {
	e := newEnv(t)
	text := func(image string) string {
		return parallelSet("replicas: 3", "replicas: 3", inOrderUpdate, inPlaceUpdate+"      inPlaceUpdateStrategy: {gracePeriodSeconds: 3}\n",
			noGates, inPlaceGate, mainImage+"v1", mainImage+image)
	}
	names := []string{"web-0", "web-1", "web-2"}
	e.apply(text("v1"))
	e.settledSet(3, names...)
	before, lines := e.uids(), e.firstLines(names...)
	e.apply(text("v2"))
	var first *corev1.Pod
	e.eventually("the update begins", func(c *require.Assertions, ctx context.Context) {
		pod, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, "web-2", metav1.GetOptions{})
		c.NoError(err)
		c.Equal(corev1.ConditionFalse, condition(pod, pub.InPlaceUpdateReadyConditionType).Status)
		first = pod
	})
	reboot(t, nodeOf(t, first))
	e.settledSet(3, names...)
	assert.Equal(t, before, e.uids(), "no Pod was replaced")
	e.run("after the reboot", map[string]string{"web-0": "v2", "web-1": "v2", "web-2": "v2"})
	assert.Equal(t, lines, e.firstLines(names...))
}
