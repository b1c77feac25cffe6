//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/podstate"
)

// A surge cannot run beside a Pod whose host port it needs. Its Pod waits, and the old Pods stay in service, as in Kubernetes. Without a
// surge, the update completes.
func TestDaemonSetSurgesWithHostPorts(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	size := int32(len(nodes))
	manifest := func(name, port string, pairs ...string) string {
		return e.daemonManifest(name, append(pairs, "- containerPort: 8080", "- {containerPort: 8080, hostPort: "+port+"}")...)
	}
	kinds := map[string][]string{"ds": nil, "core": {"apps.kruise.io/v1beta1", "apps/v1"}}
	ports := map[string]string{"ds": "18081", "core": "18082"}
	surge, replace := []string{"maxUnavailable: 1", "maxSurge: 1\n      maxUnavailable: 0"}, []string{"maxUnavailable: 1", "maxUnavailable: 1\n      maxSurge: 0"}
	ready := func(name string) {
		t.Helper()
		e.eventually(name+" is ready", func(c *require.Assertions, _ context.Context) {
			pods := e.pods(name)
			c.Equal(nodes, nodesOf(pods))
			for i := range pods {
				c.True(podstate.Ready(&pods[i]), pods[i].Name)
			}
		})
	}
	for name, group := range kinds {
		e.apply(manifest(name, ports[name], append(group, surge...)...))
	}
	for name, group := range kinds {
		ready(name)
		e.apply(manifest(name, ports[name], append(append(group, surge...), "demo:v1", "demo:v2")...))
	}
	for name := range kinds {
		e.eventually("the new Pod of "+name+" waits for the port", func(c *require.Assertions, _ context.Context) {
			pending, serving := 0, 0
			for _, pod := range e.pods(name) {
				if pod.Spec.NodeName == "" && pod.Status.Phase == corev1.PodPending && pod.Spec.Containers[0].Image == "kruise.local/demo:v2" {
					pending++
				}
				if podstate.Ready(&pod) && pod.Spec.Containers[0].Image == "kruise.local/demo:v1" {
					serving++
				}
			}
			c.Equal(1, pending, "maxSurge")
			c.Equal(len(nodes), serving)
		})
	}
	for name, group := range kinds {
		e.apply(manifest(name, ports[name], append(append(group, replace...), "demo:v1", "demo:v2")...))
	}
	for name := range kinds {
		ready(name)
		e.eventually(name+" is updated", func(c *require.Assertions, _ context.Context) {
			for _, pod := range e.pods(name) {
				c.Equal("kruise.local/demo:v2", pod.Spec.Containers[0].Image)
				c.True(podstate.Ready(&pod))
			}
			c.Equal(nodes, nodesOf(e.pods(name)))
		})
	}
	e.daemonReady("ds", size)
}

// A Pod that its node rejects, because its host port is taken, is replaced again and again, and runs soon after the port is free.
// Case statefulset 45.
func TestStatefulSetWaitsForAHostPort(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const set = `apiVersion: apps.kruise.io/v1beta1
kind: StatefulSet
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeName: node-1
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: "kruise.local/demo:v1", imagePullPolicy: IfNotPresent, ports: [{containerPort: 8080, hostPort: 18083}]}
`
	e.apply(`apiVersion: v1
kind: Pod
metadata: {name: first}
spec:
  nodeName: node-1
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "kruise.local/demo:v1", imagePullPolicy: IfNotPresent, ports: [{containerPort: 8080, hostPort: 18083}]}
`)
	e.kubectl("wait", "pod/first", "--for=condition=Ready", "--timeout=3m")
	history := e.watchPods()
	e.apply(set)
	rejected := func() map[string]bool {
		list, err := e.core.CoreV1().Events(e.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=NodePorts"})
		require.NoError(t, err)
		uids := map[string]bool{}
		for i := range list.Items {
			uids[string(list.Items[i].InvolvedObject.UID)] = true
		}
		return uids
	}
	e.eventually("the node rejects three Pods", func(c *require.Assertions, _ context.Context) { c.GreaterOrEqual(len(rejected()), 3) })
	e.kubectl("delete", "pod", "first", "--wait=true")
	freed := time.Now()
	e.settledSet(1, "web-0")
	t.Logf("web-0 was ready %v after the port was free, after %d rejected Pods", time.Since(freed).Round(time.Second), len(rejected()))
	failed := map[string]bool{}
	for _, seen := range history() {
		if seen.Name == "web-0" && seen.Status.Phase == corev1.PodFailed {
			failed[string(seen.UID)] = true
		}
	}
	assert.GreaterOrEqual(t, len(failed), 3)
}

// A label that a variable reads restarts each container once, after the grace period. A Pod with the new label is not ready until then.
// Case statefulset 46.
func TestStatefulSetRestartsForALabelAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(tier string) string {
		return statefulSet(ourGroup, "replicas: 3", "replicas: 2",
			inOrderUpdate, inPlaceUpdate+"      inPlaceUpdateStrategy: {gracePeriodSeconds: 5}\n", noGates, inPlaceGate,
			"      labels: {app: web}\n", "      labels: {app: web, tier: "+tier+"}\n", "        volumeMounts:\n",
			"        env: [{name: TIER, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['tier']\"}}}]\n        volumeMounts:\n")
	}
	e.apply(text("a"))
	e.settledSet(2, "web-0", "web-1")
	before := e.uids()
	history := e.watchPods()
	e.apply(text("b"))
	var set *v1beta1.StatefulSet
	e.eventually("both Pods are updated and available", func(c *require.Assertions, ctx context.Context) {
		var err error
		set, err = e.kruise.AppsV1beta1().StatefulSets(e.namespace).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		c.Equal(set.Generation, set.Status.ObservedGeneration)
		c.EqualValues(2, set.Status.UpdatedAvailableReplicas)
	})
	assert.Equal(t, before, e.uids(), "updated in place")
	for _, pod := range e.pods("web") {
		assert.EqualValues(t, 1, statusOf(&pod, "main").RestartCount, pod.Name)
		assert.Equal(t, "b", pod.Labels["tier"], pod.Name)
	}
	var order []string
	for _, seen := range history() {
		status := statusOf(&seen.Pod, "main")
		if seen.Labels["tier"] != "b" || status == nil || status.RestartCount > 0 {
			continue
		}
		assert.False(t, podstate.Ready(&seen.Pod), "%s is ready with the new label and its old container", seen.Name)
		if len(order) == 0 || order[len(order)-1] != seen.Name {
			order = append(order, seen.Name)
		}
	}
	assert.Equal(t, []string{"web-1", "web-0"}, order, "the highest ordinal first")
}
