package nodepodprobe

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/workload/nodefit"
	"kruise.io/kruise/pkg/workload/podprobe"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

// nodeChanged ignores changes that nodes make to their own status all the time. Objects that are no nodes always count.
func nodeChanged(before, after metav1.Object) bool {
	b, _ := before.(*corev1.Node)
	a, _ := after.(*corev1.Node)
	return b == nil || a == nil || b.UID != a.UID || ready(b) != ready(a) || present(b) != present(a)
}

// changedPod returns the nodes that a change of a Pod concerns. A Pod that no PodProbeMarker selects, and that no NodePodProbe
// lists, concerns none. before is nil for a new Pod, and after is nil for a deleted one.
func (r *Reconciler) changedPod(before, after metav1.Object) (keys []types.NamespacedName) {
	b, _ := before.(*corev1.Pod)
	a, _ := after.(*corev1.Pod)
	if b != nil && a != nil && !worthAPass(b, a) && !r.probeConditionChanged(b, a) {
		return nil
	}
	// Both versions are looked at: the Pod may be listed because of the labels that it had.
	for _, pod := range []*corev1.Pod{b, a} {
		if pod != nil && pod.Spec.NodeName != "" && (r.listed(pod) || podprobe.OnNode(pod) && len(r.selecting(pod)) > 0) {
			keys = append(keys, types.NamespacedName{Name: pod.Spec.NodeName})
		}
	}
	return keys
}

// worthAPass reports whether a change of a Pod may change its probes or its marks. The address is part of an entry, and other
// clients may remove marks from the labels and annotations. For marks in conditions, see probeConditionChanged.
func worthAPass(before, after *corev1.Pod) bool {
	return before.UID != after.UID || podprobe.OnNode(before) != podprobe.OnNode(after) || before.Status.PodIP != after.Status.PodIP ||
		!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations)
}

// probeConditionChanged reports whether a condition that a probe of a listed Pod writes has changed its status. Another client may
// have removed the condition. Other conditions do not count: the kubelet changes them often.
func (r *Reconciler) probeConditionChanged(before, after *corev1.Pod) bool {
	if !r.listed(after) {
		return false
	}
	for _, marker := range r.selecting(after) {
		for i := range marker.Spec.Probes {
			kind := corev1.PodConditionType(marker.Spec.Probes[i].PodConditionType)
			if kind != "" && conditionStatus(before, kind) != conditionStatus(after, kind) {
				return true
			}
		}
	}
	return false
}

// conditionStatus returns the status of a condition, or "" if the Pod does not have it.
func conditionStatus(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	if condition := podstate.Condition(pod, kind); condition != nil {
		return condition.Status
	}
	return ""
}

// listed reports whether a NodePodProbe lists a Pod. The cache can be behind: a Pod that was just listed is found by its
// PodProbeMarkers.
func (r *Reconciler) listed(pod *corev1.Pod) bool {
	keys, err := r.nodePodProbes.IndexKeys(podprobe.PodIndex, string(pod.UID))
	return err == nil && len(keys) > 0
}

// changedMarker returns the nodes that list probes of a PodProbeMarker, and those that have Pods which it selects. The former
// can have Pods that it no longer selects. Changes of its status concern no node.
func (r *Reconciler) changedMarker(before, after metav1.Object) (keys []types.NamespacedName) {
	b, _ := before.(*v1alpha1.PodProbeMarker)
	a, _ := after.(*v1alpha1.PodProbeMarker)
	// The generation does not change with the status.
	if b != nil && a != nil && b.UID == a.UID && b.Generation == a.Generation && (b.DeletionTimestamp == nil) == (a.DeletionTimestamp == nil) {
		return nil
	}
	// Of a deleted PodProbeMarker, only the last state is known.
	marker := a
	if marker == nil {
		marker = b
	}
	names, err := r.nodePodProbes.IndexKeys(podprobe.MarkerIndex, podprobe.MarkerKey(marker.Namespace, marker.Name))
	if err != nil {
		return nil
	}
	for _, name := range names {
		keys = append(keys, types.NamespacedName{Name: name})
	}
	// A PodProbeMarker that is being deleted gets no new probes.
	if a == nil || a.DeletionTimestamp != nil {
		return keys
	}
	pods, err := r.selected(a.Namespace, selectorindex.Parse(a.Spec.Selector))
	if err != nil {
		return keys
	}
	for _, pod := range pods {
		if podprobe.OnNode(pod) {
			keys = append(keys, types.NamespacedName{Name: pod.Spec.NodeName})
		}
	}
	return keys
}

// present reports whether a node exists and its agent runs probes.
func present(node *corev1.Node) bool {
	return node != nil && node.DeletionTimestamp == nil && !nodefit.Virtual(node)
}

// ready reports whether a node has said that it is ready.
func ready(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// running reports whether a Pod can still be marked. The entry must be for this Pod: UIDs in a spec are not checked by the API
// server.
func running(pod *corev1.Pod, entry *v1alpha1.PodProbe) bool {
	return pod != nil && podstate.Active(pod) && pod.Namespace == entry.Namespace && pod.Name == entry.Name
}
