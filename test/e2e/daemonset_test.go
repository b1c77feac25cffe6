//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// daemonManifest returns a DaemonSet on the nodes that the test has chosen. replacements are old, new pairs of text.
func (e *env) daemonManifest(name string, replacements ...string) string {
	text := `apiVersion: apps.kruise.io/v1beta1
kind: DaemonSet
metadata:
  name: NAME
spec:
  selector:
    matchLabels: {app: NAME}
  updateStrategy:
    rollingUpdate:
      maxUnavailable: 1
  template:
    metadata:
      labels: {app: NAME}
    spec:
      nodeSelector: {NODES: chosen}
      terminationGracePeriodSeconds: 5
      containers:
      - name: main
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        ports:
        - containerPort: 8080
        resources:
          requests: {cpu: 10m, memory: 16Mi}
`
	return strings.NewReplacer(append(replacements, "NAME", name, "NODES", e.nodeLabel())...).Replace(text)
}

// nodeLabel is the label of the nodes that the test has chosen.
func (e *env) nodeLabel() string { return "e2e.kruise.io/" + e.namespace }

// choose labels real nodes for the test, until it ends, and returns their names. Without names it chooses all of them.
func (e *env) choose(names ...string) []string {
	e.t.Helper()
	if len(names) == 0 {
		nodes, err := e.core.CoreV1().Nodes().List(e.t.Context(), metav1.ListOptions{LabelSelector: "type!=kwok"})
		require.NoError(e.t, err)
		for i := range nodes.Items {
			names = append(names, nodes.Items[i].Name)
		}
	}
	for _, name := range names {
		e.labelNode(e.t.Context(), name, e.nodeLabel(), `"chosen"`)
		e.t.Cleanup(func() { e.labelNode(context.WithoutCancel(e.t.Context()), name, e.nodeLabel(), "null") })
	}
	return names
}

func (e *env) labelNode(ctx context.Context, node, key, value string) {
	e.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, key, value)
	_, err := e.core.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(e.t, err)
}

// daemonReady waits until the DaemonSet's newest generation is available on a number of nodes.
func (e *env) daemonReady(name string, nodes int32) (set *v1beta1.DaemonSet) {
	e.t.Helper()
	e.eventually("DaemonSet "+name+" ready", func(c *require.Assertions, ctx context.Context) {
		var err error
		set, err = e.kruise.AppsV1beta1().DaemonSets(e.namespace).Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		status := set.Status
		c.Equal(set.Generation, status.ObservedGeneration, "observedGeneration")
		c.Equal(nodes, status.DesiredNumberScheduled, "desired")
		c.Equal(nodes, status.UpdatedNumberScheduled, "updated")
		c.Equal(nodes, status.NumberAvailable, "available")
		c.Zero(status.NumberUnavailable+status.NumberMisscheduled, "unavailable or misscheduled")
		e.serve(ctx, c, set, set.Spec.Selector, nodes)
	})
	return set
}

// nodesOf returns the nodes of an app's Pods, sorted.
func nodesOf(pods []corev1.Pod) (names []string) {
	for i := range pods {
		names = append(names, pods[i].Spec.NodeName)
	}
	slices.Sort(names)
	return names
}

// TestDaemonSetFollowsNodes checks that Pods come to nodes that match, also to a cordoned one, and leave those that do not.
// Cases daemonset 1, 7, 26.
func TestDaemonSetFollowsNodes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	last := len(nodes) - 1
	e.labelNode(t.Context(), nodes[last], e.nodeLabel(), `"other"`)
	e.apply(e.daemonManifest("ds"))
	e.daemonReady("ds", int32(last))
	assert.Equal(t, nodes[:last], nodesOf(e.pods("ds")))
	e.said("SuccessfulCreate", "Created pod: ds-")
	assert.Regexp(t, fmt.Sprintf(`ds\s+%d\s+%d\s+%d\s+%d\s+%d`, last, last, last, last, last), e.kubectl("get", "daemonsets.apps.kruise.io"))

	e.labelNode(t.Context(), nodes[last], e.nodeLabel(), `"chosen"`)
	e.daemonReady("ds", int32(len(nodes)))
	e.labelNode(t.Context(), nodes[0], e.nodeLabel(), `"other"`)
	e.daemonReady("ds", int32(last))
	e.eventually("the Pod leaves its node", func(c *require.Assertions, _ context.Context) { c.Equal(nodes[1:], nodesOf(e.pods("ds"))) })

	e.cordons(nodes[1])
	e.kubectl("cordon", nodes[1])
	for _, pod := range e.pods("ds") {
		if pod.Spec.NodeName == nodes[1] {
			e.kubectl("delete", "pod", pod.Name)
		}
	}
	e.daemonReady("ds", int32(last))
	assert.Equal(t, nodes[1:], nodesOf(e.pods("ds")))
}

// TestDaemonSetUpdatesInPlace checks that Pods stay, restart one at a time, and are recreated for another change.
// Cases daemonset 4, 24.
func TestDaemonSetUpdatesInPlace(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	size := int32(len(nodes))
	inPlace := []string{"rollingUpdate:", "rollingUpdate:\n      rollingUpdateType: InPlaceIfPossible"}
	e.apply(e.daemonManifest("ds", inPlace...))
	e.daemonReady("ds", size)
	old := byUID(e.pods("ds"))
	watched := e.observe([]stress{{name: "ds", replicas: len(nodes), maxUnavailable: 1}})
	e.apply(e.daemonManifest("ds", append(inPlace, "demo:v1", "demo:v2")...))
	e.daemonReady("ds", size)
	watched.report(t)
	updated := byUID(e.pods("ds"))
	for uid, pod := range updated {
		require.Contains(t, old, uid, "the same Pods")
		status := pod.Status.ContainerStatuses[0]
		assert.Equal(t, old[uid].Status.ContainerStatuses[0].RestartCount+1, status.RestartCount)
		assert.Equal(t, "kruise.local/demo:v2", status.Image)
	}
	e.apply(e.daemonManifest("ds", append(inPlace, "demo:v1", "demo:v2", "        ports:", "        env: [{name: ADDED, value: \"1\"}]\n        ports:")...))
	e.daemonReady("ds", size)
	watched.report(t)
	for uid := range byUID(e.pods("ds")) {
		assert.NotContains(t, updated, uid)
	}
}

// TestDaemonSetSurges checks that a node keeps its old Pod until the new one is available.
// Case daemonset 27.
func TestDaemonSetSurges(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	surge := []string{"maxUnavailable: 1", "maxSurge: 1"}
	e.apply(e.daemonManifest("ds", surge...))
	e.daemonReady("ds", int32(len(nodes)))
	watched := e.observe([]stress{{name: "ds", replicas: len(nodes), maxSurge: 1}})
	e.apply(e.daemonManifest("ds", append(surge, "demo:v1", "demo:v2")...))
	e.daemonReady("ds", int32(len(nodes)))
	e.eventually("one Pod on each node", func(c *require.Assertions, _ context.Context) { c.Equal(nodes, nodesOf(e.pods("ds"))) })
	watched.report(t)
}

// shape is what a DaemonSet decides about a Pod.
type shape struct {
	Tolerations []corev1.Toleration
	Affinity    *corev1.Affinity
	Scheduler   string
	Owner       string
	Labels      []string
}

func shapeOf(pod *corev1.Pod) shape {
	s := shape{
		Affinity: pod.Spec.Affinity, Scheduler: pod.Spec.SchedulerName, Owner: metav1.GetControllerOf(pod).Kind,
		Tolerations: slices.Clone(pod.Spec.Tolerations),
	}
	slices.SortFunc(s.Tolerations, func(a, b corev1.Toleration) int { return strings.Compare(a.Key, b.Key) })
	for key := range pod.Labels {
		if key != "pod-template-generation" { // The deprecated annotation of built-in DaemonSets.
			s.Labels = append(s.Labels, key)
		}
	}
	slices.Sort(s.Labels)
	return s
}

// TestDaemonSetMatchesTheBuiltInOne checks that the same manifest gives the same Pods on the same nodes, and ends a rollout in the
// same state.
func TestDaemonSetMatchesTheBuiltInOne(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	for _, image := range []string{"demo:v1", "demo:v2"} {
		e.apply(e.daemonManifest("ds", "demo:v1", image))
		e.apply(e.daemonManifest("core", "demo:v1", image, "apps.kruise.io/v1beta1", "apps/v1"))
		e.daemonReady("ds", int32(len(nodes)))
		e.eventually("the built-in DaemonSet is ready", func(c *require.Assertions, ctx context.Context) {
			set, err := e.core.AppsV1().DaemonSets(e.namespace).Get(ctx, "core", metav1.GetOptions{})
			c.NoError(err)
			c.Equal(set.Generation, set.Status.ObservedGeneration)
			c.EqualValues(len(nodes), set.Status.UpdatedNumberScheduled)
			c.EqualValues(len(nodes), set.Status.NumberAvailable)
		})
		pods, core := e.pods("ds"), e.pods("core")
		require.Equal(t, nodesOf(core), nodesOf(pods))
		for _, pod := range pods {
			other := core[slices.IndexFunc(core, func(p corev1.Pod) bool { return p.Spec.NodeName == pod.Spec.NodeName })]
			assert.Equal(t, shapeOf(&other), shapeOf(&pod))
			assert.Equal(t, other.Spec.Containers[0].Image, pod.Spec.Containers[0].Image)
		}
	}
}
