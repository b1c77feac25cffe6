package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Trim is the transform of every informer: it drops what no controller reads, from every object its managed fields and from a
// Node the list of its images. A write must therefore be a patch of what it changes, or go to an object that was just read.
func Trim(obj any) (any, error) {
	if object, ok := obj.(metav1.Object); ok && object.GetManagedFields() != nil {
		object.SetManagedFields(nil)
	}
	if node, ok := obj.(*corev1.Node); ok {
		node.Status.Images = nil
	}
	return obj, nil
}
