//go:build e2e

package e2e

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// unitedManifest returns a UnitedDeployment web with a kind of template, with subsets and a schedule strategy.
func unitedManifest(template, replicas, image, topology string) string {
	values := strings.NewReplacer("TEMPLATE", template, "REPLICAS", replicas, "IMAGE", image, "TOPOLOGY", topology)
	return values.Replace(`apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: web}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    TEMPLATE:
      metadata: {labels: {app: web}}
      spec:
        template:
          metadata: {labels: {app: web}}
          spec:
            terminationGracePeriodSeconds: 1
            containers: [{name: main, image: "kruise.local/demo:IMAGE", imagePullPolicy: IfNotPresent}]
  topology: TOPOLOGY
`)
}

// anywhere are two subsets that have room everywhere.
const anywhere = `{name: a}, {name: b}`

// united waits until the status of a UnitedDeployment is settled, with these replicas of its subsets.
func (e *env) united(name string, subsets map[string]int32, check func(c *require.Assertions, status *v1beta1.UnitedDeploymentStatus)) {
	e.t.Helper()
	e.eventually(name+" is settled", func(c *require.Assertions, ctx context.Context) {
		united, err := e.kruise.AppsV1beta1().UnitedDeployments(e.namespace).Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		c.Equal(united.Generation, united.Status.ObservedGeneration)
		found := map[string]int32{}
		for _, subset := range united.Status.SubsetStatuses {
			found[subset.Name] = subset.Replicas
		}
		c.Equal(subsets, found)
		check(c, &united.Status)
	})
}

// allReady checks that all Pods are ready and at the update revision.
func allReady(replicas int32) func(*require.Assertions, *v1beta1.UnitedDeploymentStatus) {
	return func(c *require.Assertions, status *v1beta1.UnitedDeploymentStatus) {
		c.Equal(replicas, status.Replicas)
		c.Equal(replicas, status.ReadyReplicas)
		c.Equal(replicas, status.UpdatedReadyReplicas)
		c.Equal(status.UpdatedRevision, status.CurrentRevision)
	}
}

// bySubset returns how many Pods of each subset run an image.
func bySubset(pods []corev1.Pod, image string) map[string]int {
	found := map[string]int{}
	for i := range pods {
		if strings.HasSuffix(pods[i].Spec.Containers[0].Image, image) {
			found[pods[i].Labels[pub.SubsetNameKey]]++
		}
	}
	return found
}

// Cases uniteddeployment 1, 2, 8.
func TestSubsetsShareTheReplicas(t *testing.T) {
	t.Parallel()
	for _, template := range []string{"cloneSetTemplate", "deploymentTemplate", "statefulSetTemplate", "advancedStatefulSetTemplate"} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			e.apply(unitedManifest(template, "3", "v1", "{subsets: ["+anywhere+"]}"))
			e.united("web", map[string]int32{"a": 1, "b": 2}, allReady(3))
			e.kubectl("scale", "uniteddeployment", "web", "--replicas=4")
			e.united("web", map[string]int32{"a": 2, "b": 2}, allReady(4))
			e.apply(unitedManifest(template, "4", "v2", "{subsets: ["+anywhere+"]}"))
			e.united("web", map[string]int32{"a": 2, "b": 2}, allReady(4))
			assert.Equal(t, map[string]int{"a": 2, "b": 2}, bySubset(e.pods("web"), "v2"))
			e.kubectl("patch", "uniteddeployment", "web", "--type=json", "--patch", `[{"op":"remove","path":"/spec/topology/subsets/1"}]`)
			e.united("web", map[string]int32{"a": 4}, allReady(4))
			e.eventually("the Pods of the removed subset are gone", func(c *require.Assertions, _ context.Context) {
				c.Equal(map[string]int{"a": 4}, bySubset(e.pods("web"), "v2"))
			})
			e.kubectl("delete", "uniteddeployment", "web", "--wait=false")
			e.eventually("the Pods go with the UnitedDeployment", func(c *require.Assertions, _ context.Context) {
				c.Empty(e.pods("web"))
			})
		})
	}
}

// Cases uniteddeployment 6, 9, 12.
func TestSubsetsAreUpdatedOneByOne(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	topology := "{subsets: [" + anywhere + "]}"
	e.apply(unitedManifest("cloneSetTemplate", "4", "v1", topology))
	e.united("web", map[string]int32{"a": 2, "b": 2}, allReady(4))
	partitions := func(a string) string {
		return unitedManifest("cloneSetTemplate", "4", "v2", topology) + "  updateStrategy: {manualUpdate: {partitions: {a: " + a + "}}}\n"
	}
	e.apply(partitions("1"))
	e.united("web", map[string]int32{"a": 2, "b": 2}, func(c *require.Assertions, status *v1beta1.UnitedDeploymentStatus) {
		c.EqualValues(3, status.UpdatedReadyReplicas)
		c.NotEqual(status.UpdatedRevision, status.CurrentRevision)
	})
	assert.Equal(t, map[string]int{"a": 1, "b": 2}, bySubset(e.pods("web"), "v2"))
	e.apply(partitions("0"))
	e.united("web", map[string]int32{"a": 2, "b": 2}, allReady(4))
	e.apply(unitedManifest("cloneSetTemplate", "4", "v1", topology))
	e.eventually("the first image is back", func(c *require.Assertions, _ context.Context) {
		c.Equal(map[string]int{"a": 2, "b": 2}, bySubset(e.pods("web"), "v1"))
	})
	e.kubectl("patch", "uniteddeployment", "web", "--type=json", "--patch",
		`[{"op":"move","from":"/spec/template/cloneSetTemplate","path":"/spec/template/deploymentTemplate"}]`)
	e.eventually("Deployments take the place of the CloneSets", func(c *require.Assertions, ctx context.Context) {
		sets, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Empty(sets.Items)
		deployments, err := e.core.AppsV1().Deployments(e.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Len(deployments.Items, 2)
	})
	e.united("web", map[string]int32{"a": 2, "b": 2}, allReady(4))
}

// chosenOnly is a subset a on the nodes that the test chooses, adaptive with short times. After Pods found no node, the subset gets no
// Pods for unschedulable seconds.
func (e *env) chosenOnly(unschedulable int, maximum, settings string) string {
	return `{subsets: [{name: a, nodeSelectorTerm: {matchExpressions: [{key: ` + e.nodeLabel() + `, operator: Exists}]}` + maximum + `}, {name: b}],
    scheduleStrategy: {type: Adaptive, adaptive: {rescheduleCriticalSeconds: 5, unschedulableDuration: ` + strconv.Itoa(unschedulable) + settings + `}}}`
}

// podNames returns the names of the Pods of a subset.
func (e *env) podNames(subset string) (names []string) {
	for _, pod := range e.pods("web") {
		if pod.Labels[pub.SubsetNameKey] == subset {
			names = append(names, pod.Name)
		}
	}
	return names
}

// Case uniteddeployment 19.
func TestPodsMoveFromASubsetWithoutNodes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(unitedManifest("cloneSetTemplate", "3", "v1", e.chosenOnly(60, ", maxReplicas: 2", "")))
	e.united("web", map[string]int32{"a": 0, "b": 3}, allReady(3))
	moved := e.podNames("b")
	e.choose()
	e.eventually("the subset recovers", func(c *require.Assertions, ctx context.Context) {
		united, err := e.kruise.AppsV1beta1().UnitedDeployments(e.namespace).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		conditions := united.Status.SubsetStatuses[0].Conditions
		c.Len(conditions, 1)
		c.Equal("True recover", string(conditions[0].Status)+" "+conditions[0].Reason)
	})
	e.united("web", map[string]int32{"a": 0, "b": 3}, allReady(3))
	e.kubectl("scale", "uniteddeployment", "web", "--replicas=6")
	e.united("web", map[string]int32{"a": 2, "b": 4}, allReady(6))
	assert.Subset(t, e.podNames("b"), moved, "healthy Pods stay")
}

// Case uniteddeployment 21.
func TestReservedPodsOfASubsetWithoutNodes(t *testing.T) {
	for _, template := range []string{"deploymentTemplate", "cloneSetTemplate"} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			topology := e.chosenOnly(10, "", ", reserveUnschedulablePods: true")
			e.apply(unitedManifest(template, "2", "v1", topology))
			reserved := func(c *require.Assertions, status *v1beta1.UnitedDeploymentStatus) {
				c.EqualValues(2, status.Replicas)
				c.EqualValues(2, status.ReadyReplicas)
				c.EqualValues(2, status.ReservedPods)
			}
			e.united("web", map[string]int32{"a": 2, "b": 2}, reserved)
			labels := map[string]bool{}
			for _, pod := range e.pods("web") {
				labels[pod.Labels[pub.SubsetNameKey]+" "+pod.Labels[pub.ReservedPodKey]] = true
			}
			assert.ElementsMatch(t, []string{"a true", "b false"}, slices.Collect(maps.Keys(labels)))

			e.apply(unitedManifest(template, "2", "v2", topology))
			e.united("web", map[string]int32{"a": 2, "b": 2}, reserved)
			e.eventually("reserved Pods are updated too", func(c *require.Assertions, _ context.Context) {
				c.Equal(map[string]int{"a": 2, "b": 2}, bySubset(e.pods("web"), "v2"))
			})
			e.choose()
			e.united("web", map[string]int32{"a": 2, "b": 0}, func(c *require.Assertions, status *v1beta1.UnitedDeploymentStatus) {
				allReady(2)(c, status)
				c.Zero(status.ReservedPods)
			})
		})
	}
}

// Cases uniteddeployment 13, 17, 18, 23.
func TestSubsetsDiffer(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	manifest := strings.Replace(unitedManifest("cloneSetTemplate", "5", "v1", `{subsets: [
    {name: a, minReplicas: 2, maxReplicas: 4, patch: {metadata: {labels: {arch: arm}}}}, {name: b, minReplicas: 2}]}`),
		"      spec:\n        template:\n", "      spec:\n        scaleStrategy: {maxUnavailable: 1}\n"+
			"        lifecycle: {preDelete: {labelsHandler: {hold: \"no\"}}}\n        template:\n", 1)
	e.apply(manifest)
	e.united("web", map[string]int32{"a": 3, "b": 2}, allReady(5))
	for _, pod := range e.pods("web") {
		assert.Equal(t, pod.Labels[pub.SubsetNameKey] == "a", pod.Labels["arch"] == "arm", pod.Name)
	}
	sets, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: pub.SubsetNameKey + "=a"})
	require.NoError(t, err)
	require.Len(t, sets.Items, 1)
	set := &sets.Items[0]
	assert.True(t, strings.HasPrefix(set.Name, "web-a-"), set.Name)
	assert.Equal(t, 1, set.Spec.ScaleStrategy.MaxUnavailable.IntValue())
	assert.Equal(t, map[string]string{"hold": "no"}, set.Spec.Lifecycle.PreDelete.LabelsHandler)

	assert.Equal(t, `{"a":3,"b":2} {"a":0,"b":0}`, e.kubectl("get", "uniteddeployments.v1alpha1.apps.kruise.io", "web",
		"--output=jsonpath={.status.subsetReplicas} {.status.updateStatus.currentPartitions}"))
	assert.Equal(t, "5 app=web", e.kubectl("get", "uniteddeployment", "web", "--subresource=scale",
		"--output=jsonpath={.status.replicas} {.status.selector}"))

	second := set.DeepCopy()
	second.ObjectMeta = metav1.ObjectMeta{Name: "by-hand", Labels: set.Labels, Annotations: set.Annotations, OwnerReferences: set.OwnerReferences}
	_, err = e.kruise.AppsV1beta1().CloneSets(e.namespace).Create(t.Context(), second, metav1.CreateOptions{})
	require.NoError(t, err)
	e.eventually("the second CloneSet of the subset is deleted", func(c *require.Assertions, ctx context.Context) {
		sets, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: pub.SubsetNameKey + "=a"})
		c.NoError(err)
		c.Len(sets.Items, 1)
		c.Equal(set.Name, sets.Items[0].Name)
	})
	e.united("web", map[string]int32{"a": 3, "b": 2}, allReady(5))
}

// StatefulSets with claims are scaled and updated, although most fields of their spec cannot be changed.
func TestSubsetsWithClaims(t *testing.T) {
	for _, template := range []string{"statefulSetTemplate", "advancedStatefulSetTemplate"} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			with := func(replicas, image string) string {
				return strings.Replace(unitedManifest(template, replicas, image, "{subsets: ["+anywhere+"]}"), "      spec:\n        template:\n",
					"      spec:\n        volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce],"+
						" resources: {requests: {storage: 1Mi}}}}]\n        template:\n", 1)
			}
			e.apply(with("2", "v1"))
			e.united("web", map[string]int32{"a": 1, "b": 1}, allReady(2))
			e.apply(with("4", "v2"))
			e.united("web", map[string]int32{"a": 2, "b": 2}, allReady(4))
			assert.Equal(t, map[string]int{"a": 2, "b": 2}, bySubset(e.pods("web"), "v2"))
			claims, err := e.core.CoreV1().PersistentVolumeClaims(e.namespace).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			assert.Len(t, claims.Items, 4)
		})
	}
}

// Case uniteddeployment 16.
func TestStatefulSetIsNotStuckAtABrokenImage(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	topology := "{subsets: [{name: a}]}"
	e.apply(unitedManifest("statefulSetTemplate", "1", "none", topology))
	e.eventually("the Pod exists", func(c *require.Assertions, _ context.Context) { c.Len(e.pods("web"), 1) })
	e.apply(unitedManifest("statefulSetTemplate", "1", "v1", topology))
	e.united("web", map[string]int32{"a": 1}, allReady(1))
}

// Case uniteddeployment 27.
func TestKeptSubsetsAreAdopted(t *testing.T) {
	for _, template := range []string{"cloneSetTemplate", "deploymentTemplate", "statefulSetTemplate", "advancedStatefulSetTemplate"} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			manifest := unitedManifest(template, "2", "v1", "{subsets: ["+anywhere+"]}")
			e.apply(manifest)
			e.united("web", map[string]int32{"a": 1, "b": 1}, allReady(2))
			uids := func() (all []string) {
				for _, pod := range e.pods("web") {
					all = append(all, string(pod.UID))
				}
				return all
			}
			before := uids()
			e.kubectl("delete", "uniteddeployment", "web", "--cascade=orphan")
			e.apply(manifest)
			e.united("web", map[string]int32{"a": 1, "b": 1}, allReady(2))
			e.kubectl("scale", "uniteddeployment", "web", "--replicas=4")
			e.united("web", map[string]int32{"a": 2, "b": 2}, allReady(4))
			assert.Subset(t, uids(), before)
			e.eventually("no Pod runs twice", func(c *require.Assertions, _ context.Context) { c.Len(e.pods("web"), 4) })
		})
	}
}
