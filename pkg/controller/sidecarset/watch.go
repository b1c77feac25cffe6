package sidecarset

import (
	"cmp"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// changedPod returns the SidecarSets that a change of a Pod concerns: those that the Pod records, and those that it lacks or lacked.
// before is nil for a new Pod, and after is nil for a deleted one.
func (r *Reconciler) changedPod(before, after metav1.Object) (keys []types.NamespacedName) {
	old, _ := before.(*corev1.Pod)
	pod, _ := after.(*corev1.Pod)
	if old == nil && pod == nil || old != nil && pod != nil && !worthAPass(old, pod) {
		return nil
	}
	// Of a deleted Pod, the last state decides which SidecarSets counted it.
	newest := cmp.Or(pod, old)
	concerned := map[string]bool{}
	for _, name := range sidecar.InjectedSets(newest) {
		concerned[name] = true
		if r.set(name) != nil {
			keys = append(keys, types.NamespacedName{Name: name})
		}
	}
	// A Pod that ends, or that gets other labels, no longer counts as one that lacks a SidecarSet.
	for _, version := range []*corev1.Pod{old, pod} {
		for _, set := range r.forNewPods(version) {
			if !concerned[set.Name] {
				concerned[set.Name] = true
				keys = append(keys, types.NamespacedName{Name: set.Name})
			}
		}
	}
	return keys
}

// changedNamespace returns the SidecarSets that a change of the labels of a namespace affects: they start or stop selecting the
// namespace, or its new Pods start or stop being sent to admission. A new namespace has no Pods yet, and a deleted one has none left.
func (r *Reconciler) changedNamespace(before, after metav1.Object) (keys []types.NamespacedName) {
	old, _ := before.(*corev1.Namespace)
	namespace, _ := after.(*corev1.Namespace)
	if old == nil || namespace == nil || maps.Equal(old.Labels, namespace.Labels) {
		return nil
	}
	sends := controller.SendsNewPods(old, r.Namespace) != controller.SendsNewPods(namespace, r.Namespace)
	for _, item := range r.sets.List() {
		set, ok := item.(*v1beta1.SidecarSet)
		if !ok {
			continue
		}
		selected := sidecar.SelectsNamespace(set, namespace.Labels)
		if selected != sidecar.SelectsNamespace(set, old.Labels) || selected && sends {
			keys = append(keys, controller.Self(set)...)
		}
	}
	return keys
}

// set returns a SidecarSet from the cache, or nil if there is none.
func (r *Reconciler) set(name string) *v1beta1.SidecarSet {
	item, _, _ := r.sets.GetByKey(name) // The indexer cannot fail.
	set, _ := item.(*v1beta1.SidecarSet)
	return set
}

// worthAPass reports whether a change of a Pod may change a status or make an upgrade possible. It compares what the decisions
// read: labels, annotations, readiness, and the identity of each container. Other changes of a status cause no pass.
func worthAPass(before, after *corev1.Pod) bool {
	if podstate.Active(before) != podstate.Active(after) || podstate.ConditionReady(before) != podstate.ConditionReady(after) ||
		before.Status.Phase != after.Status.Phase || before.Status.ObservedGeneration != after.Status.ObservedGeneration ||
		!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
		len(before.Status.ContainerStatuses) != len(after.Status.ContainerStatuses) {
		return true
	}
	for i := range before.Status.ContainerStatuses {
		b, a := &before.Status.ContainerStatuses[i], &after.Status.ContainerStatuses[i]
		if b.ContainerID != a.ContainerID || b.Ready != a.Ready || b.Image != a.Image || b.ImageID != a.ImageID ||
			(b.State.Running == nil) != (a.State.Running == nil) {
			return true
		}
	}
	return false
}
