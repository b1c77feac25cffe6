package nodefit_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/nodefit"
)

func selecting(pairs map[string]string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) { s.NodeSelector = pairs }
}

func TestIndexFindsEverySelectedNode(t *testing.T) {
	var nodes []*corev1.Node
	for i, zone := range []string{"a", "b", "c", ""} {
		node := newNode()
		node.Name, node.Labels = fmt.Sprint("n", i), map[string]string{"disk": "ssd"}
		if zone != "" {
			node.Labels["zone"] = zone
		}
		nodes = append(nodes, node)
	}
	twoTerms := newPod(zone(corev1.NodeSelectorOpIn, "a"))
	required := twoTerms.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpDoesNotExist}},
	})
	for name, test := range map[string]struct {
		pod *corev1.Pod
		// found is how many nodes the index finds, and selected how many of them the Pod selects.
		found, selected int
	}{
		"nothing asked":          {newPod(), 4, 4},
		"node selector":          {newPod(selecting(map[string]string{"zone": "b"})), 1, 1},
		"two labels":             {newPod(selecting(map[string]string{"zone": "b", "disk": "hdd"})), -1, 0},
		"affinity":               {newPod(zone(corev1.NodeSelectorOpIn, "a", "c")), 2, 2},
		"label exists":           {newPod(zone(corev1.NodeSelectorOpExists)), 3, 3},
		"negative":               {newPod(zone(corev1.NodeSelectorOpNotIn, "a")), 4, 3},
		"alternatives":           {twoTerms, 4, 2},
		"value that is no label": {newPod(selecting(map[string]string{"zone": "not a label"})), 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			requirements := nodefit.Require(test.pod)
			anchors := requirements.Anchors()
			found, selected := 0, 0
			for _, node := range nodes {
				hit := slices.ContainsFunc(nodefit.Values(node), func(value string) bool { return slices.Contains(anchors, value) })
				if hit {
					found++
				}
				if requirements.Of(node).Selected {
					selected++
					assert.True(t, hit, node.Name)
				}
			}
			assert.Equal(t, test.selected, selected)
			if test.found >= 0 {
				assert.Equal(t, test.found, found)
			}
		})
	}
}

func TestHeartbeatLeavesANodeTheSame(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*corev1.Node)
		same bool
	}{
		"heartbeat": {func(n *corev1.Node) {
			n.ResourceVersion = "2"
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}
		}, true},
		"label":    {func(n *corev1.Node) { n.Labels["zone"] = "b" }, false},
		"taint":    {func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} }, false},
		"cordoned": {func(n *corev1.Node) { n.Spec.Unschedulable = true }, false},
		"capacity": {func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("3") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			after := newNode()
			test.edit(after)
			assert.Equal(t, test.same, nodefit.Same(newNode(), after))
		})
	}
}
