package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/workload/selectorindex"
)

// orphanIndex finds Pods without a controller by their labels.
const orphanIndex = "orphans"

// Adopts makes the controller reconcile the objects that select a Pod when a Pod without a controller is created or changes. The
// returned function lists the selected Pods without a controller, for engine.Caches. Pods that have a controller cause no reconcile
// here: Owns maps their changes. A Pod that loses its controller is watched in both states, so the objects that select it see it as
// soon as it can be adopted.
func (c *Of[T]) Adopts(kind, pods Informer, selector func(T) *metav1.LabelSelector) SelectedPods {
	adopters := c.Selecting(kind, selector)
	// The index leaves a Pod out when another controller adopts it, so a pass never reads the Pods of other workloads.
	orphans := c.Index(pods, orphanIndex, func(obj any) ([]string, error) {
		if pod, ok := obj.(*corev1.Pod); ok && metav1.GetControllerOfNoCopy(pod) == nil {
			return selectorindex.Index(pod.Namespace, pod.Labels), nil
		}
		return nil, nil
	})
	c.Watch(pods, func(pod metav1.Object) []types.NamespacedName {
		if metav1.GetControllerOfNoCopy(pod) != nil {
			return nil
		}
		return adopters(pod)
	})
	return selectedBy(orphanIndex, orphans)
}
