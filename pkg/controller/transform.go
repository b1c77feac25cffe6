package controller

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/workload/kinds"
)

// ourGroups is the suffix of the API groups of this project.
const ourGroups = ".kruise.io"

// Trim is the transform of every informer. It drops what no controller reads: the managed fields of every object, the image list of a
// Node, the data of a ControllerRevision whose controller is of another project's group, and the Pod templates of kinds whose templates no
// controller reads, such as the ten old ReplicaSets of each Deployment. A write must therefore be a patch of only what it changes, or go
// to an object that was just read from the server. The informer passes each object to Trim before anything else reads it, so Trim may
// change it.
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
	case runtime.Object:
		if kind := kinds.OfObject(o); kind != nil && kind.PodsUnread {
			kind.Template(o).Spec = corev1.PodSpec{}
		}
	}
	return obj, nil
}

// othersControl reports whether the object's controller is of a group of another project. An object without a controller may be
// adopted, and then its data is read.
func othersControl(object metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil {
		return false
	}
	// An API version that cannot be parsed is none of this project's.
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err != nil || !strings.HasSuffix(gv.Group, ourGroups)
}
