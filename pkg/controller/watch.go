package controller

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Mapper names the objects to reconcile when obj changed.
type Mapper func(obj metav1.Object) []types.NamespacedName

// Self reconciles the object that changed.
func Self(obj metav1.Object) []types.NamespacedName {
	return []types.NamespacedName{{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
}

// OwnerOf reconciles the object of this kind, in whatever version, that controls the one that changed.
func OwnerOf(kind schema.GroupKind) Mapper {
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

// Filter says whether a change from before to after is worth a reconcile.
type Filter func(before, after metav1.Object) bool

// Watch reconciles what the mapper names whenever an object of the informer comes, changes or goes. An object whose deletion
// begins changes, so a controller learns of it then and not only when the object is gone. When an object changes hands, both
// hands learn of it. A filter, if given, leaves changes out.
func (c *Controller) Watch(informer cache.SharedIndexInformer, mapper Mapper, filters ...Filter) error {
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.enqueue(obj, mapper) },
		UpdateFunc: func(before, after any) {
			if !wanted(before, after, filters) {
				return
			}
			c.enqueue(before, mapper)
			c.enqueue(after, mapper)
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			c.enqueue(obj, mapper)
		},
	})
	if err != nil {
		return fmt.Errorf("watch for %s: %w", c.name, err)
	}
	c.watches = append(c.watches, registration)
	return nil
}

func wanted(before, after any, filters []Filter) bool {
	b, okBefore := before.(metav1.Object)
	a, okAfter := after.(metav1.Object)
	if !okBefore || !okAfter {
		return false
	}
	for _, filter := range filters {
		if !filter(b, a) {
			return false
		}
	}
	return true
}

func (c *Controller) enqueue(obj any, mapper Mapper) {
	object, ok := obj.(metav1.Object)
	if !ok {
		return
	}
	for _, key := range mapper(object) {
		c.queue.Add(key)
	}
}
