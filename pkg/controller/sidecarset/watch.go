package sidecarset

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// changedPod returns the SidecarSets that a change of a Pod concerns.
func (r *Reconciler) changedPod(before, after metav1.Object) (keys []types.NamespacedName) {
	old, _ := before.(*corev1.Pod)
	pod, _ := after.(*corev1.Pod)
	switch {
	case old == nil && pod == nil, old != nil && pod != nil && !worthAPass(old, pod):
		return nil
	case pod == nil:
		pod = old
	}
	injected := map[string]bool{}
	for _, name := range sidecar.InjectedSets(pod) {
		injected[name] = true
		set := r.set(name)
		if set == nil || !r.worthCounting(set, pod, old == nil) {
			continue
		}
		keys = append(keys, types.NamespacedName{Name: name})
	}
	for _, set := range r.forNewPods(pod) {
		if !injected[set.Name] {
			keys = append(keys, types.NamespacedName{Name: set.Name})
		}
	}
	return keys
}

// worthCounting reports whether a change of the Pod may change what the SidecarSet shows. created is true for a new Pod.
func (r *Reconciler) worthCounting(set *v1beta1.SidecarSet, pod *corev1.Pod, created bool) bool {
	if set.Spec.UpdateStrategy.Type != v1beta1.NotUpdateSidecarSetStrategyType {
		return true
	}
	if !created || pod.CreationTimestamp.Time.Before(r.counts.started) {
		return false
	}
	r.counts.add(set.UID)
	return true
}

func (r *Reconciler) set(name string) *v1beta1.SidecarSet {
	item, _, _ := r.sets.GetByKey(name) // The indexer cannot fail.
	set, _ := item.(*v1beta1.SidecarSet)
	return set
}

// worthAPass reports whether a change of a Pod may change a status or make an upgrade possible.
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

// changedScope returns the namespaces whose Pods a SidecarSet selects, or selected before it changed.
func (r *Reconciler) changedScope(before, after metav1.Object) (keys []types.NamespacedName) {
	old, _ := before.(*v1beta1.SidecarSet)
	set, _ := after.(*v1beta1.SidecarSet)
	if old != nil && set != nil && apiequality.Semantic.DeepEqual(old.Spec.NamespaceSelector, set.Spec.NamespaceSelector) {
		return nil
	}
	namespaces, err := r.namespaces.List(labels.Everything())
	if err != nil {
		return nil
	}
	for _, namespace := range namespaces {
		if old != nil && sidecar.SelectsNamespace(old, namespace.Labels) || set != nil && sidecar.SelectsNamespace(set, namespace.Labels) {
			keys = append(keys, namespaceItself(namespace)...)
		}
	}
	return keys
}

func namespaceItself(obj metav1.Object) []types.NamespacedName {
	return []types.NamespacedName{{Namespace: obj.GetName()}}
}

func labelsChanged(before, after metav1.Object) bool {
	return !maps.Equal(before.GetLabels(), after.GetLabels())
}
