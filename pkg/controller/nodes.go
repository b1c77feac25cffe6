package controller

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/workload/nodefit"
)

// nodeIndex finds nodes by their labels. nodeSelectorIndex finds the objects whose Pods may run on a node by its labels.
const (
	nodeIndex         = "nodeLabels"
	nodeSelectorIndex = "nodeSelector"
)

// OnNodes makes the controller reconcile the objects that a node's change concerns, for kinds with a Pod on each node. It finds
// the objects by the labels that their Pods require of a node. concerns then compares the two states of the node: before is nil
// for a new node, and after for a deleted one. A change that does not matter to Pods, such as a heartbeat, costs nothing.
//
// The returned function lists the nodes that a Pod may select, by the same index.
func (c *Of[T]) OnNodes(
	kind, nodes Informer, requires func(T) *nodefit.Requirements, concerns func(object T, before, after *corev1.Node) bool,
) func(*nodefit.Requirements) ([]*corev1.Node, error) {
	objects := c.Index(kind, nodeSelectorIndex, func(obj any) ([]string, error) {
		if object, ok := obj.(T); ok {
			return requires(object).Anchors(), nil
		}
		return nil, nil
	})
	byLabels := c.Index(nodes, nodeIndex, func(obj any) ([]string, error) {
		if node, ok := obj.(*corev1.Node); ok {
			return nodefit.Values(node), nil
		}
		return nil, nil
	})
	c.WatchChanges(nodes, func(before, after metav1.Object) (keys []types.NamespacedName) {
		b, _ := before.(*corev1.Node)
		a, _ := after.(*corev1.Node)
		// A label that was removed matters as much as one that was added, so the values of both states are read. An object can appear
		// twice; the queue keeps one key.
		for _, value := range changedValues(b, a) {
			items, _ := objects.ByIndex(nodeSelectorIndex, value) // The index exists.
			for _, item := range items {
				if object, ok := item.(T); ok && concerns(object, b, a) {
					keys = append(keys, Self(object)...)
				}
			}
		}
		return keys
	})
	return func(required *nodefit.Requirements) (found []*corev1.Node, err error) {
		// A node that the Pod selects has one of the anchors. The caller still compares each node, because an anchor stands for only
		// one of the requirements.
		for _, anchor := range required.Anchors() {
			items, err := byLabels.ByIndex(nodeIndex, anchor)
			if err != nil {
				return nil, fmt.Errorf("list nodes by their labels: %w", err)
			}
			for _, item := range items {
				if node, ok := item.(*corev1.Node); ok {
					found = append(found, node)
				}
			}
		}
		return found, nil
	}
}

// changedValues returns the index values of a node before and after a change, or no values if the change does not matter to Pods.
// nodefit.Same ignores heartbeats and conditions, which are almost all changes of nodes. A node with another UID is another node, even
// if it looks the same.
func changedValues(before, after *corev1.Node) (values []string) {
	if before != nil && after != nil && before.UID == after.UID && nodefit.Same(before, after) {
		return nil
	}
	for _, node := range []*corev1.Node{before, after} {
		if node != nil {
			values = append(values, nodefit.Values(node)...)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
