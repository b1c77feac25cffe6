//go:build integration

package integration

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/daemonset"
	"kruise.io/kruise/pkg/reconcile"
)

// daemonsOfBoth is a DaemonSet that both groups serve.
const daemonsOfBoth = `
apiVersion: GROUP
kind: DaemonSet
metadata: {name: web}
spec:
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      schedulerName: played
      nodeSelector: {compared: "yes"}
      tolerations: [{key: played, effect: NoSchedule}]
      containers:
      - name: main
        image: kruise.local/demo:v1
`

// node changes a node.
func node(name, patch string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		_, err := env.kube.CoreV1().Nodes().Patch(t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
	}
}

func tainted(name, effect string) func(*testing.T) {
	return node(name, fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":"NoSchedule"},{"key":"broken","effect":%q}]}}`, playedLabel, effect))
}

func untainted(name string) func(*testing.T) {
	return node(name, fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":"NoSchedule"}]}}`, playedLabel))
}

func labelled(name, value string) func(*testing.T) {
	return node(name, fmt.Sprintf(`{"metadata":{"labels":{"compared":%q}}}`, value))
}

func cordoned(name string, is bool) func(*testing.T) {
	return node(name, fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, is))
}

func nodeDeleted(name string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		require.NoError(t, env.kube.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
}

func limits(unavailable, surge string) func(*side) {
	return func(s *side) {
		s.patch(`{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":%s,"maxSurge":%s}}}}`, unavailable, surge)
	}
}

// The operations on a DaemonSet. The places are nodes. The order between nodes may differ: ours is by name.
var daemonOperations = []operation{
	{name: "create", do: (*side).create, nodes: 3},
	{name: "update of the image", do: image("v2"), wordy: true},
	{name: "node is added", once: labelled("played-4", "yes"), nodes: 4},
	{name: "node is labelled out", once: labelled("played-4", "no"), nodes: 3},
	{name: "node is labelled in", once: labelled("played-4", "yes"), nodes: 4},
	{name: "node is cordoned", once: cordoned("played-1", true)},
	{name: "Pod on the cordoned node is deleted", do: deleted("played-1")},
	{name: "update with a cordoned node", do: image("v3")},
	{name: "node is uncordoned", once: cordoned("played-1", false)},
	{name: "node does not accept Pods", stuck: true, anyStatus: true, once: tainted("played-2", "NoSchedule")},
	{name: "Pod on it is deleted", do: deleted("played-2"), nodes: 3},
	{name: "update without it", do: image("v4")},
	{name: "node accepts Pods", once: untainted("played-2"), nodes: 4},
	{name: "node evicts Pods", once: tainted("played-3", "NoExecute"), nodes: 3},
	{name: "node no longer evicts Pods", once: untainted("played-3"), nodes: 4},
	{name: "two unavailable Pods", do: all(limits("2", "0"), image("v5"))},
	{name: "all unavailable at once", do: all(limits(`"100%"`, "0"), environment("1"))},
	{name: "rollback", do: all(limits("1", "0"), image("v4"))},
	{name: "update stops at unready Pods", anyPlace: true, stuck: true, do: image("broken")},
	{name: "repaired template", anyPlace: true, do: image("v6")},
	{name: "surge of one", do: all(limits("0", "1"), image("v7"))},
	{name: "surge of all", do: all(limits("0", `"100%"`), image("v8"))},
	{name: "surge stops at unready Pods", anyPlace: true, stuck: true, aged: true, do: all(limits("0", "1"), image("broken"))},
	{name: "surge with a repaired template", anyPlace: true, do: image("v9")},
	{name: "no surge", do: limits("1", "0")},
	{name: "OnDelete", stuck: true, do: all(strategy(`{"type":"OnDelete","rollingUpdate":null}`), image("v10"))},
	{name: "Pod is deleted under OnDelete", stuck: true, do: deleted("played-2")},
	{name: "rolling update after OnDelete", do: strategy(`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1}}`)},
	{name: "Pod is killed", do: killed("played-1")},
	{name: "Pod is evicted", do: func(s *side) { s.evict("played-1") }},
	{name: "Pod failed", do: ended("played-1", corev1.PodFailed)},
	{name: "Pod succeeded", do: ended("played-2", corev1.PodSucceeded)},
	{name: "all Pods are deleted", disrupts: true, do: deleted("played-1", "played-2", "played-3", "played-4")},
	{name: "minReadySeconds", do: func(s *side) { s.patch(`{"spec":{"minReadySeconds":1}}`) }},
	{name: "update with minReadySeconds", do: image("v11")},
	{name: "no minReadySeconds", do: func(s *side) { s.patch(`{"spec":{"minReadySeconds":0}}`) }},
	{name: "owner is removed from a Pod", do: relabelled("played-1", `{"ownerReferences":null}`)},
	{name: "set is deleted without its Pods and created again", do: (*side).recreate},
	{name: "kubelet stops and a Pod is deleted", stuck: true, do: all(stopped("played-1"), deleted("played-1"))},
	{name: "update while a kubelet is stopped", stuck: true, do: image("v12")},
	{name: "Pod of the lost node is killed", stuck: true, do: killed("played-1")},
	{name: "kubelet starts", do: started("played-1")},
	{name: "template selects other nodes", nodes: 2, once: together(node("played-1", `{"metadata":{"labels":{"kind":"a"}}}`),
		node("played-2", `{"metadata":{"labels":{"kind":"a"}}}`)),
		do: func(s *side) { s.patch(`{"spec":{"template":{"spec":{"nodeSelector":{"kind":"a"}}}}}`) }},
	{name: "template selects all nodes", nodes: 4, do: func(s *side) {
		s.patch(`{"spec":{"template":{"spec":{"nodeSelector":{"kind":null}}}}}`)
	}},
	{name: "label of the selector is removed from a Pod", stuck: true, do: relabelled("played-1", `{"labels":{"app":null}}`)},
	{name: "Pod without the label is deleted", do: func(s *side) { s.deleteWithout("app") }},
	{name: "short history", do: func(s *side) { s.patch(`{"spec":{"revisionHistoryLimit":1}}`) }},
	{name: "update with a short history", do: image("v13")},
}

// The operations on a DaemonSet that loses a node. kube-controller-manager deletes the Pods of a node that is gone after 40 seconds.
var lostNodeOperations = []operation{
	{name: "create", do: (*side).create, nodes: 3},
	{name: "update of the image", do: image("v2")},
	{name: "node is deleted", once: nodeDeleted("lost-3"), nodes: 2},
}

func together(steps ...func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		for _, do := range steps {
			do(t)
		}
	}
}

// settledDaemons says what a DaemonSet lacks to have done all that its spec asks for.
func settledDaemons(s *side, object *unstructured.Unstructured) string {
	number := func(name string) int64 {
		value, _, _ := unstructured.NestedInt64(object.Object, "status", name)
		return value
	}
	want := int64(s.nodes)
	switch {
	case number("observedGeneration") != object.GetGeneration():
		return "observedGeneration"
	case number("desiredNumberScheduled") != want || len(s.pods()) != s.nodes:
		return fmt.Sprintf("%d nodes", want)
	case number("numberAvailable") != want || number("numberMisscheduled") != 0 || number("updatedNumberScheduled") != want:
		return "available or updated Pods"
	default:
		return ""
	}
}

// A DaemonSet of this group and one of Kubernetes create, update and delete the same Pods on the same nodes, and report the same status,
// revisions and events.
// Cases daemonset 1, 7, 8, 18, 25, 26, 27.
func TestDaemonSetDoesWhatThatOfKubernetesDoes(t *testing.T) {
	t.Parallel()
	nodes := []string{"played-1", "played-2", "played-3", "played-4"}
	compareDaemons(t, "yes", daemonOperations, nodes[:3], nodes)
}

// The same for DaemonSets that lose a node.
// Case daemonset 1.
func TestDaemonSetThatLosesANodeDoesWhatThatOfKubernetesDoes(t *testing.T) {
	t.Parallel()
	nodes := []string{"lost-1", "lost-2", "lost-3"}
	compareDaemons(t, "lost", lostNodeOperations, nodes, nodes)
}

// compareDaemons compares DaemonSets for nodes with a label, which the selected nodes have at first.
func compareDaemons(t *testing.T, label string, operations []operation, selected, nodes []string) {
	t.Helper()
	playedNodes(t, nodes...)
	for _, name := range selected {
		labelled(name, label)(t)
	}
	sides := newSides(t, "daemonsets", strings.Replace(daemonsOfBoth, `"yes"`, strconv.Quote(label), 1), nodeOf, nodes...)
	runController(t, sides[1].namespace, func(deps controller.Deps) (*reconcile.Controller, error) {
		return daemonset.New(deps, daemonset.Options{})
	})
	for i := range operations {
		operations[i].anyOrder = true
	}
	compare(t, sides, operations, settledDaemons)
}
