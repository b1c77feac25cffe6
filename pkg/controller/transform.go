package controller

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ourGroups is how the names of our API groups end.
const ourGroups = ".kruise.io"

// Trim is the transform of every informer: it drops what no controller reads, from every object its managed fields, from a
// Node the list of its images, and from a ControllerRevision that another group's object controls its data. A write must
// therefore be a patch of what it changes, or go to an object that was just read.
func Trim(obj any) (any, error) {
	if object, ok := obj.(metav1.Object); ok && object.GetManagedFields() != nil {
		object.SetManagedFields(nil)
	}
	switch o := obj.(type) {
	case *corev1.Node:
		o.Status.Images = nil
	case *appsv1.ControllerRevision:
		if othersControl(o) {
			o.Data = runtime.RawExtension{}
		}
	}
	return obj, nil
}

// othersControl tells whether the controller is of a group that is not ours. What nobody controls may be adopted, and then its
// data is read.
func othersControl(object metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err != nil || !strings.HasSuffix(gv.Group, ourGroups)
}
