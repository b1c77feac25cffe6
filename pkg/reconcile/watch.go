package reconcile

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Mapper names the objects to reconcile when obj changed.
type Mapper func(obj metav1.Object) []types.NamespacedName

// Filter says whether a change from before to after is worth a reconcile.
type Filter func(before, after metav1.Object) bool

// Watch reconciles what the mapper names whenever an object of the informer comes, changes or goes. An object whose deletion
// begins changes, so a controller learns of it then and not only when the object is gone. When an object changes hands, both
// hands learn of it. A filter, if given, leaves changes out.
func (c *Controller) Watch(informer cache.SharedIndexInformer, mapper Mapper, filters ...Filter) error {
	return c.handle(informer, cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.enqueue(obj, mapper) },
		UpdateFunc: func(before, after any) {
			if !wanted(before, after, filters) {
				return
			}
			c.enqueue(before, mapper)
			c.enqueue(after, mapper)
		},
		DeleteFunc: func(obj any) { c.enqueue(last(obj), mapper) },
	})
}

// Differ names the objects to reconcile when an object was before and is after; one of them is nil when it came or went.
type Differ func(before, after metav1.Object) []types.NamespacedName

// WatchChanges reconciles what the differ names, for those whom only the difference tells whom it concerns.
func (c *Controller) WatchChanges(informer cache.SharedIndexInformer, differ Differ) error {
	see := func(before, after any) {
		b, _ := before.(metav1.Object)
		a, _ := after.(metav1.Object)
		for _, key := range differ(b, a) {
			c.queue.Add(key)
		}
	}
	return c.handle(informer, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { see(nil, obj) },
		UpdateFunc: see,
		DeleteFunc: func(obj any) { see(last(obj), nil) },
	})
}

// handle lets Run wait until the handler has seen what there was from the beginning.
func (c *Controller) handle(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("watch for %s: %w", c.name, err)
	}
	c.watches = append(c.watches, registration)
	return nil
}

// last is the last known state of an object that is gone.
func last(obj any) any {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return unknown.Obj
	}
	return obj
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
