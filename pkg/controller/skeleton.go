package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"kruise.io/kruise/pkg/controller/consistency"
	kruisescheme "kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
	"kruise.io/kruise/pkg/reconcile"
)

// Object is an API object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Informer is the accessor of an informer in Deps.
type Informer interface {
	Informer() cache.SharedIndexInformer
}

// Of is a controller of the objects of one kind while it is put together. It reconciles what its cache has of a key, once the
// caches have seen what the last reconcile wrote. Errors are kept until Build.
type Of[T Object] struct {
	name      string
	deps      Deps
	kind      schema.GroupKind
	indexer   cache.Indexer
	reconcile func(context.Context, T) (reconcile.Result, error)
	absent    func(context.Context, types.NamespacedName) (reconcile.Result, error)
	worth     func(T) bool
	forget    []func(T)
	guard     *consistency.Guard
	guards    bool
	queue     *reconcile.Controller
	errs      []error
}

// For begins a controller of the informer's objects. The reconciler gets an object of the cache, which it must not change.
func For[T Object](
	deps Deps, name string, informer Informer, reconciler func(ctx context.Context, object T) (reconcile.Result, error),
) *Of[T] {
	c := &Of[T]{
		name: name, deps: deps, indexer: informer.Informer().GetIndexer(), reconcile: reconciler,
		worth: func(T) bool { return true },
	}
	var err error
	c.kind, err = kindOf[T]()
	c.guard = NewGuard(deps, name, c.kind)
	c.queue = reconcile.New(name, deps.Options, c.next)
	c.check(err)
	c.check(c.queue.Watch(informer.Informer(), c.itself))
	c.check(c.queue.WatchChanges(informer.Informer(), c.gone))
	return c
}

// Build returns the controller, which runs nothing yet.
func (c *Of[T]) Build() (*reconcile.Controller, error) {
	if c.guards {
		c.check(consistency.Supported())
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, fmt.Errorf("make %s: %w", c.name, err)
	}
	return c.queue, nil
}

// When leaves objects alone that there is nothing to do for.
func (c *Of[T]) When(worth func(T) bool) { c.worth = worth }

// Absent reconciles keys that no object of the cache has.
func (c *Of[T]) Absent(reconciler func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error)) {
	c.absent = reconciler
}

// Forget is told of objects that are gone, to drop what the controller keeps of them. The guard needs no telling.
func (c *Of[T]) Forget(forget func(T)) { c.forget = append(c.forget, forget) }

// Guard takes what the controller wrote to resources that it Owns or Guards.
func (c *Of[T]) Guard() *consistency.Guard { return c.guard }

// Recorder records events of the controller.
func (c *Of[T]) Recorder() record.EventRecorder { return c.deps.Recorder(c.name) }

// Owns makes the guard look after a resource, and reconciles the objects that control one of it that changes. The indexer is
// for ByOwner.
func (c *Of[T]) Owns(resource schema.GroupVersionResource, informer Informer, filters ...reconcile.Filter) cache.Indexer {
	c.Guards(resource, informer)
	c.Watch(informer, OwnerOf(c.kind), filters...)
	return c.IndexByOwner(informer)
}

// Guards makes the guard look after the cache of a resource that the controller writes to.
func (c *Of[T]) Guards(resource schema.GroupVersionResource, informer Informer) {
	c.guards = true
	c.guard.Add(resource.GroupResource(), informer.Informer().GetIndexer())
}

// Index adds an index that the controller reads, and returns the indexer.
func (c *Of[T]) Index(informer Informer, name string, values cache.IndexFunc) cache.Indexer {
	c.check(Index(informer.Informer(), name, values))
	return informer.Informer().GetIndexer()
}

// IndexByOwner adds the index for ByOwner, and returns the indexer.
func (c *Of[T]) IndexByOwner(informer Informer) cache.Indexer {
	c.check(IndexByOwner(informer.Informer()))
	return informer.Informer().GetIndexer()
}

// Watch reconciles what the mapper names when an object of the informer comes, changes or goes.
func (c *Of[T]) Watch(informer Informer, mapper reconcile.Mapper, filters ...reconcile.Filter) {
	c.check(c.queue.Watch(informer.Informer(), mapper, filters...))
}

// WatchChanges reconciles what the differ names.
func (c *Of[T]) WatchChanges(informer Informer, differ reconcile.Differ) {
	c.check(c.queue.WatchChanges(informer.Informer(), differ))
}

func (c *Of[T]) check(err error) {
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

func (c *Of[T]) itself(object metav1.Object) []types.NamespacedName {
	if typed, ok := object.(T); !ok || !c.worth(typed) {
		return nil
	}
	return Self(object)
}

// gone forgets an object whose place another one may have taken. It names no key: itself does.
func (c *Of[T]) gone(before, after metav1.Object) []types.NamespacedName {
	if before == nil || after != nil && after.GetUID() == before.GetUID() {
		return nil
	}
	c.guard.Forget(before.GetUID())
	if typed, ok := before.(T); ok {
		for _, forget := range c.forget {
			forget(typed)
		}
	}
	return nil
}

// next reconciles one key.
func (c *Of[T]) next(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	item, found, err := c.indexer.GetByKey(cache.NewObjectName(key.Namespace, key.Name).String())
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read %s from its cache: %w", c.kind.Kind, err)
	}
	object, ok := item.(T)
	switch {
	case (!found || !ok) && c.absent != nil:
		return c.absent(ctx, key)
	case !found, !ok, !c.worth(object):
		return reconcile.Result{}, nil
	}
	if wait := c.guard.Wait(ctx, object); wait > 0 {
		return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
	}
	return c.reconcile(ctx, object)
}

// kindOf is the kind of a Go type.
func kindOf[T Object]() (schema.GroupKind, error) {
	object, ok := reflect.TypeAssert[runtime.Object](reflect.New(reflect.TypeFor[T]().Elem()))
	for _, scheme := range []*runtime.Scheme{kruisescheme.Scheme, kubescheme.Scheme} {
		if kinds, _, err := scheme.ObjectKinds(object); ok && err == nil {
			return kinds[0].GroupKind(), nil
		}
	}
	return schema.GroupKind{}, fmt.Errorf("%s is of no kind that the clients know", reflect.TypeFor[T]())
}
