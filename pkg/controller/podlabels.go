package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

// podLabelIndex finds Pods by their labels. selectorIndex finds objects by the selectors with which they select Pods.
const (
	podLabelIndex = "podLabels"
	selectorIndex = "selector"
)

// SelectedPods lists the Pods of a namespace that a selector selects. The Pods belong to the cache and must not be changed.
type SelectedPods func(namespace string, selector labels.Selector) ([]*corev1.Pod, error)

// PodsByLabels adds an index of Pods by their labels. The returned function uses the index, so it does not read all Pods of a
// namespace.
func (c *Of[T]) PodsByLabels(pods Informer) SelectedPods {
	return selectedBy(podLabelIndex, c.Index(pods, podLabelIndex, func(obj any) ([]string, error) {
		if pod, ok := obj.(*corev1.Pod); ok {
			return selectorindex.Index(pod.Namespace, pod.Labels), nil
		}
		return nil, nil
	}))
}

// selectedBy finds Pods in an index of their labels. The index holds one label of each selector, so selectedBy compares the whole
// selector with each Pod it finds.
func selectedBy(index string, pods cache.Indexer) SelectedPods {
	return func(namespace string, selector labels.Selector) (found []*corev1.Pod, err error) {
		for _, anchor := range selectorindex.Lookups(namespace, selector) {
			items, err := pods.ByIndex(index, anchor)
			if err != nil {
				return nil, fmt.Errorf("list Pods by label: %w", err)
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

// Selecting returns a mapper from a Pod to the objects that select it. It adds an index of the objects by their selectors. Objects
// whose selector is nil are left out. Use it to reconcile the objects when a Pod comes or changes.
func (c *Of[T]) Selecting(kind Informer, selector func(T) *metav1.LabelSelector) reconcile.Mapper {
	selecting := SelectorsOf(c, kind, selector)
	return func(pod metav1.Object) (keys []types.NamespacedName) {
		for _, object := range selecting(pod) {
			keys = append(keys, Self(object)...)
		}
		return keys
	}
}

// SelectorsOf returns a function that lists the objects of a kind that select a Pod, for a controller of any kind. It adds an index
// of the objects by their selectors. Objects whose selector is nil are left out. The index reads the selector each time an object
// changes. The selectors of these kinds may change, so a mapper must not keep them.
func SelectorsOf[K, T Object](c *Of[K], kind Informer, selector func(T) *metav1.LabelSelector) func(pod metav1.Object) []T {
	objects := c.Index(kind, selectorIndex, func(obj any) ([]string, error) {
		object, ok := obj.(T)
		if !ok {
			return nil, nil
		}
		return selectorindex.Anchors(object.GetNamespace(), selectorindex.Parse(selector(object))), nil
	})
	return func(pod metav1.Object) (found []T) {
		for _, value := range selectorindex.Values(pod.GetNamespace(), pod.GetLabels()) {
			items, _ := objects.ByIndex(selectorIndex, value) // The index exists.
			for _, item := range items {
				if object, ok := item.(T); ok && selectorindex.Parse(selector(object)).Matches(labels.Set(pod.GetLabels())) {
					found = append(found, object)
				}
			}
		}
		return found
	}
}
