package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/reconcile"
)

// Self returns the key of the changed object.
func Self(obj metav1.Object) []types.NamespacedName {
	return []types.NamespacedName{{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
}

// OwnerOf returns a mapper to the controller of the changed object, if that controller is of the kind. The API version does not
// matter. An object may name an older version of the owner's API than the controller reads. Kind and group decide. The owner has the
// namespace of the object, as garbage collection requires.
func OwnerOf(kind schema.GroupKind) reconcile.Mapper {
	return func(obj metav1.Object) []types.NamespacedName {
		ref := metav1.GetControllerOfNoCopy(obj)
		if ref == nil || ref.Kind != kind.Kind {
			return nil
		}
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != kind.Group {
			return nil
		}
		return []types.NamespacedName{{Namespace: obj.GetNamespace(), Name: ref.Name}}
	}
}

// ClusterOwnerOf is OwnerOf for a kind whose objects have no namespace. Objects of any namespace can belong to them.
func ClusterOwnerOf(kind schema.GroupKind) reconcile.Mapper {
	owner := OwnerOf(kind)
	return func(obj metav1.Object) (keys []types.NamespacedName) {
		for _, key := range owner(obj) {
			keys = append(keys, types.NamespacedName{Name: key.Name})
		}
		return keys
	}
}

// SameController reports whether two versions of an object have the same controller, or both none. An adoption and a release change it.
func SameController(before, after metav1.Object) bool {
	a, b := metav1.GetControllerOfNoCopy(before), metav1.GetControllerOfNoCopy(after)
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID
}
