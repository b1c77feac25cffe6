//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/controller/statefulset"
	"kruise.io/kruise/pkg/features"
)

// setOfBoth is a StatefulSet that both groups serve.
const setOfBoth = `
apiVersion: GROUP
kind: StatefulSet
metadata: {name: web}
spec:
  replicas: 3
  serviceName: web
  podManagementPolicy: OrderedReady
  updateStrategy: {type: RollingUpdate}
  selector: {matchLabels: {app: web}}
  volumeClaimTemplates:
  - metadata: {name: data, labels: {of: web}}
    spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Mi}}}
  template:
    metadata: {labels: {app: web}}
    spec:
      schedulerName: played
      containers:
      - name: main
        image: kruise.local/demo:v1
        volumeMounts: [{name: data, mountPath: /data}]
`

func scaled(replicas int) func(*side) {
	return func(s *side) { s.patch(`{"spec":{"replicas":%d}}`, replicas) }
}

func image(tag string) func(*side) {
	return func(s *side) { s.container("image", fmt.Sprintf("%q", "kruise.local/demo:"+tag)) }
}

func environment(value string) func(*side) {
	return func(s *side) { s.container("env", fmt.Sprintf(`[{"name":"A","value":%q}]`, value)) }
}

func partition(n int) func(*side) {
	return func(s *side) { s.patch(`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":%d}}}}`, n) }
}

func retention(whenScaled, whenDeleted string) func(*side) {
	return func(s *side) {
		s.patch(`{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":%q,"whenDeleted":%q}}}`, whenScaled, whenDeleted)
	}
}

func all(steps ...func(*side)) func(*side) {
	return func(s *side) {
		for _, do := range steps {
			do(s)
		}
	}
}

func deleted(places ...string) func(*side) { return func(s *side) { s.deletePods(places...) } }

func killed(place string) func(*side) { return func(s *side) { s.kill(place) } }

func ended(place string, phase corev1.PodPhase) func(*side) {
	return func(s *side) { s.phase(place, phase) }
}

func relabelled(place, metadata string) func(*side) {
	return func(s *side) { s.metadata(place, metadata) }
}

func sick(pods ...string) func(*side) { return func(s *side) { s.kubelets.ail(pods...) } }

func healthy(pods ...string) func(*side) { return func(s *side) { s.kubelets.heal(pods...) } }

func stopped(nodes ...string) func(*side) { return func(s *side) { s.kubelets.stop(nodes...) } }

func started(nodes ...string) func(*side) { return func(s *side) { s.kubelets.start(nodes...) } }

// rolling is a strategy with a rollingUpdate. Without one, a Pod that is lost during an update of Kubernetes returns at the current
// revision. Ours always has one.
const rolling = `{"type":"RollingUpdate","rollingUpdate":{"partition":0}}`

func strategy(text string) func(*side) {
	return func(s *side) { s.patch(`{"spec":{"updateStrategy":%s}}`, text) }
}

// minReady sets minReadySeconds, which has different paths.
func minReady(seconds int) func(*side) {
	return func(s *side) {
		if s.ours {
			s.patch(`{"spec":{"updateStrategy":{"rollingUpdate":{"minReadySeconds":%d}}}}`, seconds)
			return
		}
		s.patch(`{"spec":{"minReadySeconds":%d}}`, seconds)
	}
}

// repaired changes the image after one that cannot run. Ours replaces the broken Pod. The StatefulSet of Kubernetes waits for it without end,
// until a user deletes it.
func repaired(broken, version string) func(*side) {
	return func(s *side) {
		image(version)(s)
		if !s.ours {
			deleted(broken)(s)
		}
	}
}

func deleteClaim(name string) func(*side) {
	return func(s *side) {
		err := env.kube.CoreV1().PersistentVolumeClaims(s.namespace).Delete(s.t.Context(), name, metav1.DeleteOptions{})
		require.NoError(s.t, err)
	}
}

// The operations on a StatefulSet in order. Each begins where the one before it ended.
var orderedOperations = []operation{
	{name: "create", do: (*side).create},
	{name: "scale in", do: scaled(1)},
	{name: "update of the image", do: image("v2"), wordy: true},
	{name: "scale out", do: scaled(5)},
	{name: "scale in to two", do: scaled(2)},
	{name: "scale to zero", do: scaled(0)},
	{name: "scale from zero", do: scaled(3)},
	{name: "update of the environment", do: environment("1")},
	{name: "update of labels", do: func(s *side) { s.patch(`{"spec":{"template":{"metadata":{"labels":{"tier":"a"}}}}}`) }},
	{name: "update below a partition", do: all(partition(3), image("v3"))},
	{name: "partition of two", do: partition(2)},
	{name: "scale out below a partition", do: scaled(4)},
	{name: "Pods on both sides of a partition are deleted", disrupts: true, do: deleted("web-0", "web-3"), anyOrder: true},
	{name: "partition of one", do: partition(1)},
	{name: "partition of zero", do: partition(0)},
	{name: "scale in again", do: scaled(3)},
	{name: "half of an update", do: all(partition(1), image("v4"))},
	{name: "rollback half way", do: image("v3")},
	{name: "end of the partition", do: partition(0)},
	{name: "rollback to an older revision", do: image("v2")},
	{name: "Pod is killed", do: killed("web-1")},
	{name: "Pod is evicted", do: func(s *side) { s.evict("web-1") }},
	{name: "Pod failed", do: ended("web-0", corev1.PodFailed)},
	{name: "Pod succeeded", do: ended("web-2", corev1.PodSucceeded)},
	{name: "all Pods are deleted", disrupts: true, do: deleted("web-0", "web-1", "web-2"), anyOrder: true},
	{name: "update stops at an unready Pod", stuck: true, do: all(sick("web-2 kruise.local/demo:v5"), image("v5"))},
	{name: "Pod is deleted during an update", stuck: true, do: deleted("web-0")},
	{name: "update goes on", do: healthy("web-2 kruise.local/demo:v5")},
	{name: "update to a broken image", stuck: true, do: image("broken")},
	{name: "repaired template", do: repaired("web-2", "v6")},
	{name: "Pod is no longer ready", stuck: true, do: sick("web-0")},
	{name: "scale in waits for an unready Pod that stays", stuck: true, do: scaled(2)},
	{name: "scale in goes on", do: healthy("web-0")},
	{name: "another Pod is no longer ready", stuck: true, do: sick("web-1")},
	{name: "unready Pod is scaled in", do: scaled(1)},
	{name: "scale out waits for an unready Pod", stuck: true, do: scaled(4)},
	{name: "scale out goes on", do: healthy("web-1")},
	{name: "OnDelete", stuck: true, do: all(strategy(`{"type":"OnDelete","rollingUpdate":null}`), image("v7"))},
	{name: "Pod is deleted under OnDelete", do: deleted("web-1")},
	{name: "rolling update after OnDelete", do: strategy(rolling)},
	{name: "minReadySeconds", do: all(minReady(2), image("v8"))},
	{name: "no minReadySeconds", do: all(minReady(0), scaled(3))},
	{name: "higher first ordinal", do: func(s *side) { s.patch(`{"spec":{"ordinals":{"start":2}}}`) }},
	{name: "no first ordinal", do: func(s *side) { s.patch(`{"spec":{"ordinals":null}}`) }},
	{name: "claims are deleted with the Pods", do: all(retention("Delete", "Retain"), scaled(1))},
	{name: "claims are created again", do: scaled(3)},
	{name: "claims are deleted with the set", do: all(retention("Retain", "Delete"), scaled(2))},
	{name: "claims are retained", do: all(retention("Retain", "Retain"), scaled(3))},
	{name: "claim and Pod are deleted", do: all(deleteClaim("data-web-1"), deleted("web-1"))},
	{name: "label of the selector is removed from a Pod", stuck: true, do: relabelled("web-1", `{"labels":{"app":null}}`)},
	{name: "label of the selector returns", do: relabelled("web-1", `{"labels":{"app":"web"}}`)},
	{name: "owner is removed from a Pod", do: relabelled("web-1", `{"ownerReferences":null}`)},
	{name: "identity is removed from a Pod", do: relabelled("web-1", `{"labels":{"statefulset.kubernetes.io/pod-name":null}}`)},
	{name: "set is deleted without its Pods and created again", do: (*side).recreate, anyOrder: true},
	{name: "kubelet stops and Pods are deleted", disrupts: true, stuck: true, do: all(stopped("ordered-1"), deleted("web-2", "web-0"))},
	{name: "set changes while a kubelet is stopped", stuck: true, do: all(scaled(4), image("v9"))},
	{name: "first Pod of the lost node is killed", stuck: true, do: killed("web-0")},
	{name: "second Pod of the lost node is killed", stuck: true, do: killed("web-2")},
	{name: "kubelet starts", do: started("ordered-1")},
	{name: "short history", do: shortHistory},
	{name: "update with a short history", do: image("v10")},
	{name: "claims of a Pod that is scaled in carry the set", do: all(retention("Retain", "Delete"), scaled(2))},
}

// shortHistory leaves one old revision. The StatefulSet of Kubernetes is asked first, and its apiserver refuses this change before 1.33.
func shortHistory(s *side) {
	s.t.Helper()
	_, err := s.object.Patch(s.t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"revisionHistoryLimit":1}}`), metav1.PatchOptions{})
	if !s.ours && apierrors.IsInvalid(err) {
		s.t.Skip("this version of Kubernetes does not change revisionHistoryLimit")
	}
	require.NoError(s.t, err)
}

// The operations on a StatefulSet whose Pods are managed in parallel. Where a Pod is unavailable, an update of ours counts it, as that
// of Kubernetes does with the feature gate MaxUnavailableStatefulSet, so no such update is here.
var parallelOperations = []operation{
	{name: "create", do: (*side).create, anyOrder: true},
	{name: "scale out", do: scaled(6), anyOrder: true},
	{name: "update of the image", do: image("v2")},
	{name: "scale in", do: scaled(3), anyOrder: true},
	{name: "partition", do: all(partition(2), image("v3"))},
	{name: "Pods on both sides of a partition are deleted", disrupts: true, do: deleted("web-0", "web-2"), anyOrder: true},
	{name: "partition of zero", do: partition(0)},
	{name: "update to a broken image", stuck: true, do: image("broken")},
	{name: "repaired template replaces the broken Pod", do: image("v4")},
	{name: "Pod failed", do: ended("web-0", corev1.PodFailed)},
	{name: "kubelet stops and Pods are deleted", disrupts: true, stuck: true, do: all(stopped("parallel-1"), deleted("web-0", "web-1"))},
	{name: "scale out while Pods cannot end", stuck: true, do: scaled(5), anyOrder: true},
	{name: "kubelet starts", do: started("parallel-1"), anyOrder: true},
	{name: "OnDelete", stuck: true, do: all(strategy(`{"type":"OnDelete","rollingUpdate":null}`), image("v5"))},
	{name: "Pods are deleted under OnDelete", disrupts: true, do: deleted("web-1", "web-3"), anyOrder: true},
	{name: "rolling update after OnDelete", do: strategy(rolling)},
	{name: "scale to zero", do: scaled(0), anyOrder: true},
	{name: "claims are deleted with the Pods", do: all(retention("Delete", "Delete"), scaled(3)), anyOrder: true},
	{name: "scale in with the claims", do: scaled(1), anyOrder: true},
}

// uncollected returns a claim that the garbage collector has yet to delete, or an empty text. Kubernetes creates no Pod while its claim
// belongs to an earlier Pod, and the deletion of the claim does not make it try again.
func (s *side) uncollected() string {
	s.t.Helper()
	exists := map[types.UID]bool{}
	for _, pod := range s.pods() {
		exists[pod.UID] = true
	}
	claims, err := env.kube.CoreV1().PersistentVolumeClaims(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	require.NoError(s.t, err)
	for i := range claims.Items {
		for _, owner := range claims.Items[i].OwnerReferences {
			if owner.Kind == "Pod" && !exists[owner.UID] {
				return "deletion of claim " + claims.Items[i].Name
			}
		}
	}
	return ""
}

// settledSet says what a StatefulSet lacks to have done all that its spec asks for.
func settledSet(s *side, object *unstructured.Unstructured) string {
	number := func(fields ...string) int64 {
		value, _, _ := unstructured.NestedInt64(object.Object, fields...)
		return value
	}
	want, updated := number("spec", "replicas"), number("status", "updatedReplicas")
	strategy, _, _ := unstructured.NestedString(object.Object, "spec", "updateStrategy", "type")
	current, _, _ := unstructured.NestedString(object.Object, "status", "currentRevision")
	update, _, _ := unstructured.NestedString(object.Object, "status", "updateRevision")
	partition := number("spec", "updateStrategy", "rollingUpdate", "partition")
	switch {
	case number("status", "observedGeneration") != object.GetGeneration():
		return "observedGeneration"
	case number("status", "replicas") != want || number("status", "availableReplicas") != want || len(s.pods()) != int(want):
		return fmt.Sprintf("%d replicas", want)
	case strategy != "RollingUpdate" || updated == want-min(partition, want):
		return s.uncollected()
	case current != update || updated != want:
		return fmt.Sprintf("%d updated Pods, partition %d", updated, partition)
	default:
		return s.uncollected()
	}
}

// A StatefulSet of this group and one of Kubernetes create, update and delete the same Pods and claims in the same order, and report
// the same status, revisions and events.
// The deletion of both deletes the same claims, those of Pods that were scaled in before too.
// Cases statefulset 1, 5, 6, 16, 17, 18, 19, 21, 24, 26, 30, 40, 42, 43, 44.
func TestStatefulSetDoesWhatThatOfKubernetesDoes(t *testing.T) {
	t.Parallel()
	compareSets(t, setOfBoth, orderedOperations, "ordered-1", "ordered-2")
}

// The same for StatefulSets whose Pods are managed in parallel.
// Cases statefulset 16, 18, 24.
func TestParallelStatefulSetDoesWhatThatOfKubernetesDoes(t *testing.T) {
	t.Parallel()
	compareSets(t, strings.Replace(setOfBoth, "OrderedReady", "Parallel", 1), parallelOperations, "parallel-1", "parallel-2")
}

func compareSets(t *testing.T, manifest string, operations []operation, nodes ...string) {
	t.Helper()
	playedNodes(t, nodes...)
	sides := newSides(t, "statefulsets", manifest, podName, nodes...)
	gate := env.gate.DeepCopy()
	require.NoError(t, gate.SetFromMap(map[string]bool{string(features.StatefulSetStartOrdinal): true}))
	runControllerWith(t, gate, sides[1].namespace, statefulset.New)
	compare(t, sides, operations, settledSet)
	compareRemoval(t, sides)
}
