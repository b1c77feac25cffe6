package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/workload/selectorindex"
)

// orphanIndex finds Pods without a controller by their labels. selectorIndex finds the objects that adopt Pods by their
// selectors.
const (
	orphanIndex   = "orphans"
	selectorIndex = "selector"
)

// Adopts makes the controller reconcile the objects that select a Pod when a Pod without a controller is created or changes. The
// returned function lists the Pods of a namespace that match a selector and have no controller, for engine.Caches.
func (c *Of[T]) Adopts(kind, pods Informer, selector func(T) *metav1.LabelSelector) func(string, labels.Selector) ([]*corev1.Pod, error) {
	adopters := c.Index(kind, selectorIndex, func(obj any) ([]string, error) {
		object, ok := obj.(T)
		if !ok {
			return nil, nil
		}
		return selectorindex.Anchors(object.GetNamespace(), selectorindex.Parse(selector(object))), nil
	})
	orphans := c.Index(pods, orphanIndex, func(obj any) ([]string, error) {
		if pod, ok := obj.(*corev1.Pod); ok && metav1.GetControllerOfNoCopy(pod) == nil {
			return selectorindex.Values(pod.Namespace, pod.Labels), nil
		}
		return nil, nil
	})
	c.Watch(pods, func(pod metav1.Object) (keys []types.NamespacedName) {
		if metav1.GetControllerOfNoCopy(pod) != nil {
			return nil
		}
		for _, value := range selectorindex.Values(pod.GetNamespace(), pod.GetLabels()) {
			items, _ := adopters.ByIndex(selectorIndex, value) // The index exists.
			for _, item := range items {
				if object, ok := item.(T); ok && selectorindex.Parse(selector(object)).Matches(labels.Set(pod.GetLabels())) {
					keys = append(keys, Self(object)...)
				}
			}
		}
		return keys
	})
	return func(namespace string, selector labels.Selector) (found []*corev1.Pod, err error) {
		for _, anchor := range selectorindex.Anchors(namespace, selector) {
			items, err := orphans.ByIndex(orphanIndex, anchor)
			if err != nil {
				return nil, fmt.Errorf("list Pods without a controller: %w", err)
			}
			for _, item := range items {
				if pod, ok := item.(*corev1.Pod); ok && selector.Matches(labels.Set(pod.Labels)) {
					found = append(found, pod)
				}
			}
		}
		return found, nil
	}
}
