package nodeimage

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/nodefit"
)

// present reports whether a node exists and can have a NodeImage. No node agent runs on nodes with an operating system other than
// Linux, so jobs would wait for an answer in vain.
func present(node *corev1.Node) bool {
	if node == nil || node.DeletionTimestamp != nil || nodefit.Virtual(node) {
		return false
	}
	system, labelled := node.Labels[corev1.LabelOSStable]
	return !labelled || system == string(corev1.Linux)
}

// notReadySince returns since when a node is not ready, or nil if it is ready, unknown or has not said so yet. The result
// points into the node, and must not be changed.
func notReadySince(node *corev1.Node) *time.Time {
	if node == nil {
		return nil
	}
	condition := readiness(node)
	if condition == nil || condition.Status == corev1.ConditionTrue {
		return nil
	}
	return &condition.LastTransitionTime.Time
}

// readyIn returns the time until the node will have been ready for the delay, if it is ready now. The time is not positive if
// the delay is over.
func readyIn(node *corev1.Node, delay time.Duration, now time.Time) (wait time.Duration, ready bool) {
	condition := readiness(node)
	if condition == nil || condition.Status != corev1.ConditionTrue {
		return 0, false
	}
	return condition.LastTransitionTime.Add(delay).Sub(now), true
}

// readiness returns the condition Ready of a node, or nil.
func readiness(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// fake reports whether a NodeImage may exist without a node (case 4 of docs/contract/image-predownload.md).
func fake(image *v1beta1.NodeImage) bool {
	_, found := image.Labels[pub.FakeNodeImageKey]
	return found
}

// needsReconcile ignores changes that nodes make to their own status all the time. Two events of the same version are a resync,
// which always counts.
func needsReconcile(before, after metav1.Object) bool {
	b, ok := before.(*corev1.Node)
	a, okAfter := after.(*corev1.Node)
	if !ok || !okAfter || b.ResourceVersion == a.ResourceVersion {
		return true
	}
	was, is := readiness(b), readiness(a)
	changed := (was == nil) != (is == nil) ||
		was != nil && (was.Status != is.Status || !was.LastTransitionTime.Equal(&is.LastTransitionTime))
	return changed || b.UID != a.UID || !maps.Equal(b.Labels, a.Labels) || (b.DeletionTimestamp == nil) != (a.DeletionTimestamp == nil)
}
