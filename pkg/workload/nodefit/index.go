package nodefit

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"kruise.io/kruise/pkg/workload/selectorindex"
)

// Anchors returns the index values under which the Pod's nodes are found: every node that it selects has one of them among its
// Values. Only labels that each of these nodes must have count, so the index can find nodes that the Pod does not select.
func (r *Requirements) Anchors() []string {
	selector := labels.NewSelector()
	for key, value := range r.pod.Spec.NodeSelector {
		if requirement, err := labels.NewRequirement(key, selection.Equals, []string{value}); err == nil {
			selector = selector.Add(*requirement)
		}
	}
	for _, expression := range r.commonExpressions() {
		// The other operators do not help to find nodes.
		operator := map[corev1.NodeSelectorOperator]selection.Operator{
			corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpExists: selection.Exists,
		}[expression.Operator]
		if requirement, err := labels.NewRequirement(expression.Key, operator, expression.Values); err == nil {
			selector = selector.Add(*requirement)
		}
	}
	return selectorindex.Anchors("", selector)
}

// commonExpressions returns the expressions that the labels of every selected node match. Terms are alternatives, so only those
// of a single term do. The result belongs to the Pod.
func (r *Requirements) commonExpressions() []corev1.NodeSelectorRequirement {
	affinity := r.pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 {
		return nil
	}
	return terms[0].MatchExpressions
}

// Values returns the index values of a node.
func Values(node *corev1.Node) []string { return selectorindex.Values("", node.Labels) }

// Same reports whether two states of a node are the same to every Pod. A heartbeat does not change what they are. Conditions do
// not count, because a Fit does not depend on them.
func Same(a, b *corev1.Node) bool {
	return a.Spec.Unschedulable == b.Spec.Unschedulable && apiequality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		apiequality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) &&
		apiequality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable)
}
