//go:build e2e

package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

const hostLabel = "kubernetes.io/hostname"

// stateful returns a StatefulSet web of a version, with Pods that are not on one node, and annotations. The Pods can return to a node
// that another test cordons.
func stateful(apiVersion, replicas, annotations string) string {
	return strings.NewReplacer("VERSION", apiVersion, "REPLICAS", replicas, "ANNOTATIONS", annotations).Replace(`apiVersion: VERSION
kind: StatefulSet
metadata:
  name: web
  annotations: {ANNOTATIONS}
spec:
  replicas: REPLICAS
  serviceName: web
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]
      containers: [{name: main, image: "kruise.local/demo:v1"}]
`)
}

// recorded waits until the PersistentPodState has exactly the records of these Pods, and returns their nodes.
func (e *env) recorded(name string, pods ...string) (nodes map[string]string) {
	e.t.Helper()
	e.eventually("records of "+strings.Join(pods, " "), func(c *require.Assertions, ctx context.Context) {
		state, err := e.kruise.AppsV1beta1().PersistentPodStates(e.namespace).Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		c.Equal(state.Generation, state.Status.ObservedGeneration)
		c.ElementsMatch(pods, slices.Collect(maps.Keys(state.Status.PodStates)))
		nodes = map[string]string{}
		for pod, record := range state.Status.PodStates {
			nodes[pod] = record.NodeTopologyLabels[hostLabel]
			running, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, pod, metav1.GetOptions{})
			c.NoError(err)
			c.Equal(running.Spec.NodeName, record.NodeName)
		}
	})
	return nodes
}

// returned waits until a Pod is ready again, on its node.
func (e *env) returned(pod, node string) {
	e.t.Helper()
	e.eventually(pod+" is back", func(c *require.Assertions, ctx context.Context) {
		running, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, pod, metav1.GetOptions{})
		c.NoError(err)
		c.Nil(running.DeletionTimestamp)
		c.Equal(node, running.Spec.NodeSelector[hostLabel])
		c.Equal(node, running.Spec.NodeName)
		c.Equal("web", running.Annotations[pub.InjectedPersistentPodStateKey])
	})
}

// Cases persistentpodstate 1, 2, 5, 6, 7, 11, 17, 19.
func TestPodsReturnToTheirNodes(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{"built-in": "apps/v1", "advanced": "apps.kruise.io/v1beta1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			annotations := pub.AutoGeneratePersistentPodStateKey + `: "true", ` + pub.RequiredPersistentTopologyKey + ": " + hostLabel
			e.apply(stateful(version, "3", annotations))
			nodes := e.recorded("web", "web-0", "web-1", "web-2")
			before, err := e.core.CoreV1().Pods(e.namespace).Get(t.Context(), "web-0", metav1.GetOptions{})
			require.NoError(t, err)
			assert.Empty(t, before.Spec.NodeSelector, "the first Pod can run anywhere")
			e.kubectl("delete", "pod", "web-0", "--wait")
			e.returned("web-0", nodes["web-0"])

			e.apply(stateful(version, "2", annotations))
			e.recorded("web", "web-0", "web-1")
			e.apply(stateful(version, "3", annotations))
			e.recorded("web", "web-0", "web-1", "web-2")
			again, err := e.core.CoreV1().Pods(e.namespace).Get(t.Context(), "web-2", metav1.GetOptions{})
			require.NoError(t, err)
			assert.Empty(t, again.Spec.NodeSelector)

			e.kubectl("patch", "persistentpodstate", "web", "--type=merge", "--patch",
				`{"spec":{"persistentPodStateRetentionPolicy":"WhenDeleted"}}`)
			e.recorded("web", "web-0", "web-1", "web-2")
			kept := again.Spec.NodeName
			e.apply(stateful(version, "2", annotations))
			e.eventually("web-2 is gone", func(c *require.Assertions, ctx context.Context) {
				_, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, "web-2", metav1.GetOptions{})
				c.True(apierrors.IsNotFound(err), "%v", err)
			})
			e.apply(stateful(version, "3", annotations))
			e.returned("web-2", kept)

			group, _, _ := strings.Cut(version, "/")
			e.kubectl("delete", "statefulset."+group, "web", "--wait=false")
			e.eventually("the PersistentPodState goes with its workload", func(c *require.Assertions, ctx context.Context) {
				_, err := e.kruise.AppsV1beta1().PersistentPodStates(e.namespace).Get(ctx, "web", metav1.GetOptions{})
				c.True(apierrors.IsNotFound(err), "%v", err)
			})
		})
	}
}

// Cases persistentpodstate 3, 7.
func TestPreferredNodesOfUsersStatesAndTheirEnd(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(stateful("apps/v1", "1", ""))
	e.apply(`apiVersion: apps.kruise.io/v1alpha1
kind: PersistentPodState
metadata: {name: web}
spec:
  targetRef: {apiVersion: apps/v1, kind: StatefulSet, name: web}
  preferredPersistentTopology:
  - {weight: 100, preference: {nodeTopologyKeys: [kubernetes.io/hostname]}}
`)
	node := e.recorded("web", "web-0")["web-0"]
	e.kubectl("delete", "pod", "web-0", "--wait")
	e.eventually("the new Pod prefers the node", func(c *require.Assertions, ctx context.Context) {
		pod, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, "web-0", metav1.GetOptions{})
		c.NoError(err)
		c.NotNil(pod.Spec.Affinity)
		c.Equal([]corev1.PreferredSchedulingTerm{{Weight: 100, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: hostLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}}, pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	})
	e.kubectl("delete", "statefulset.apps", "web", "--wait=false")
	e.recorded("web")
}
