package reconcile

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Mapper returns the keys to reconcile when obj changed. It runs in the handler of an informer, so it must be fast and must not
// change obj.
type Mapper func(obj metav1.Object) []types.NamespacedName

// Filter reports whether a change from before to after needs a reconcile. It is not asked about new and deleted objects.
type Filter func(before, after metav1.Object) bool

// Watch reconciles the keys that the mapper returns when an object of the informer is added, changed or deleted. The start of a
// deletion is a change, so a controller learns of it before the object is deleted. If an object gets another owner, the keys for
// both its old and its new state are reconciled. A change is ignored if one of the filters returns false.
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

// Differ returns the keys to reconcile for an object before and after a change. before is nil for a new object, and after is nil
// for a deleted one.
type Differ func(before, after metav1.Object) []types.NamespacedName

// WatchChanges reconciles the keys that the differ returns, for controllers that need both states of an object. Like Watch, it
// must be called before Run.
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

// handle adds a handler. Run waits until the handler has seen the initial objects.
func (c *Controller) handle(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("watch for %s: %w", c.name, err)
	}
	c.watches = append(c.watches, registration)
	return nil
}

// last returns the last known state of a deleted object. An informer that missed the deletion passes it in a wrapper.
func last(obj any) any {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return unknown.Obj
	}
	return obj
}

// wanted reports whether all filters let a change pass.
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

// enqueue queues the keys of an object.
func (c *Controller) enqueue(obj any, mapper Mapper) {
	object, ok := obj.(metav1.Object)
	if !ok {
		return
	}
	for _, key := range mapper(object) {
		c.queue.Add(key)
	}
}
