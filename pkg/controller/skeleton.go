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

// Object is an API object. Only pointer types of API kinds implement it, so T is always such a pointer.
type Object interface {
	metav1.Object
	runtime.Object
}

// Informer is an accessor of an informer in Deps.
type Informer interface {
	Informer() cache.SharedIndexInformer
}

// Of is a controller of objects of one kind under construction. The controller reads the cached object of a key, and reconciles it
// once the caches show the writes of its last reconcile. Errors are kept until Build. Its methods are called by the constructor of a
// controller, in one goroutine, and after Build only by the queue.
type Of[T Object] struct {
	// name is the name in logs, events and metrics.
	name string
	deps Deps
	kind schema.GroupKind
	// indexer is the cache of the objects themselves.
	indexer   cache.Indexer
	reconcile func(context.Context, T) (reconcile.Result, error)
	// absent reconciles keys without an object. nil means that there is nothing to do.
	absent func(context.Context, types.NamespacedName) (reconcile.Result, error)
	// worth selects the objects that are reconciled at all.
	worth func(T) bool
	// forget is called for each deleted object.
	forget []func(T)
	guard  *consistency.Guard
	// guards is true once the guard tracks a resource. Only then does it matter whether client-go supports it.
	guards bool
	queue  *reconcile.Controller
	// errs are the errors of all calls before Build, so constructors need no error check after each call.
	errs []error
}

// For starts the construction of a controller for the informer's objects. The reconciler gets an object of the cache, which it must
// not change. For adds two handlers to the informer: one queues the object, the other drops what is kept for a deleted one.
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

// Build returns the controller. It does not run yet. Build returns the errors of all earlier calls.
func (c *Of[T]) Build() (*reconcile.Controller, error) {
	if c.guards {
		c.check(consistency.Supported())
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, fmt.Errorf("create %s: %w", c.name, err)
	}
	return c.queue, nil
}

// When skips objects for which worth returns false. The check is made when an event arrives and again before the reconcile, because
// the object can change while it is queued. worth must depend on the object alone, because only events of the object check it again.
func (c *Of[T]) When(worth func(T) bool) { c.worth = worth }

// Absent reconciles keys for which the cache has no object. These are keys of deleted objects, and keys that a mapper returned for an
// object that does not exist. The guard is not asked, because it keeps no records of unknown owners.
func (c *Of[T]) Absent(reconciler func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error)) {
	c.absent = reconciler
}

// Forget adds a function that is called for deleted objects, to drop what the controller keeps for them. The guard is updated
// automatically. It is called by the informer's handler, maybe while a worker still reconciles the object, and then again by that
// worker. So it must be safe for concurrent use.
func (c *Of[T]) Forget(forget func(T)) { c.forget = append(c.forget, forget) }

// Guard returns the guard. The controller must record in it every write to a resource that it Owns or Guards.
func (c *Of[T]) Guard() *consistency.Guard { return c.guard }

// Recorder returns the controller's event recorder.
func (c *Of[T]) Recorder() record.EventRecorder { return c.deps.Recorder(c.name) }

// Owns makes the guard track a resource, and reconciles the controller of an object of this resource when the object changes.
// The returned indexer is for ByOwner. The kind of the controller must have namespaces, see ClusterOwnerOf.
func (c *Of[T]) Owns(resource schema.GroupVersionResource, informer Informer, filters ...reconcile.Filter) cache.Indexer {
	c.Guards(resource, informer)
	c.Watch(informer, OwnerOf(c.kind), filters...)
	indexer := c.IndexByOwner(informer)
	c.deps.Leftovers.add(&leftoverSource{
		resource: resource, kind: c.kind, objects: indexer, owners: c.indexer, client: c.deps.Dynamic,
		live: func(ctx context.Context, namespace, name string) (metav1.Object, error) {
			return c.deps.liveOf(ctx, c.kind, namespace, name)
		},
	})
	return indexer
}

// Guards makes the guard track the cache of a resource that the controller writes. The resource causes no reconciles. Use it for what
// Watch or another mapper already covers.
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

// IndexByClusterOwner adds the index for ByClusterOwner with the kind of the controller, and returns the indexer.
func (c *Of[T]) IndexByClusterOwner(informer Informer) cache.Indexer {
	c.check(IndexByClusterOwner(informer.Informer(), c.kind))
	return informer.Informer().GetIndexer()
}

// IndexByUnwatched adds the index for ByUnwatched.
func (c *Of[T]) IndexByUnwatched(informer Informer) { c.check(IndexByUnwatched(informer.Informer())) }

// Watch reconciles the keys that the mapper returns when an object of the informer is added, changed or deleted. It also calls the
// mapper for both states of a changed object, so an object that moves to another owner reconciles both owners.
func (c *Of[T]) Watch(informer Informer, mapper reconcile.Mapper, filters ...reconcile.Filter) {
	c.check(c.queue.Watch(informer.Informer(), mapper, filters...))
}

// WatchChanges reconciles the keys that the differ returns. Unlike a mapper, a differ sees both states at once. It can ignore changes
// that do not matter and count what it sees.
func (c *Of[T]) WatchChanges(informer Informer, differ reconcile.Differ) {
	c.check(c.queue.WatchChanges(informer.Informer(), differ))
}

// check keeps an error for Build.
func (c *Of[T]) check(err error) {
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

// itself is the mapper for the objects of the controller. It returns no key for objects that When leaves out.
func (c *Of[T]) itself(object metav1.Object) []types.NamespacedName {
	if typed, ok := object.(T); !ok || !c.worth(typed) {
		return nil
	}
	return Self(object)
}

// gone forgets a deleted object, even if another object of the same name already replaced it. It returns no key, because itself
// already does.
func (c *Of[T]) gone(before, after metav1.Object) []types.NamespacedName {
	if before == nil || after != nil && after.GetUID() == before.GetUID() {
		return nil
	}
	c.drop(before)
	return nil
}

// drop drops what is kept for a deleted object.
func (c *Of[T]) drop(object metav1.Object) {
	c.guard.Forget(object.GetUID())
	c.deps.Rollouts.Forget(object)
	if typed, ok := object.(T); ok {
		for _, forget := range c.forget {
			forget(typed)
		}
	}
}

// dropDeleted drops what a reconcile kept for an object that was deleted meanwhile: gone may have run before. If the object is still in the
// cache, gone runs later.
func (c *Of[T]) dropDeleted(object T) {
	item, _, _ := c.indexer.Get(object) // The cache returns no error.
	if now, ok := item.(T); !ok || now.GetUID() != object.GetUID() {
		c.drop(object)
	}
}

// next reconciles one key. It reads the object at the last moment, so all events that came while the key was queued are one
// reconcile.
func (c *Of[T]) next(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	item, found, err := c.indexer.GetByKey(cache.NewObjectName(key.Namespace, key.Name).String())
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read %s from its cache: %w", c.kind.Kind, err)
	}
	object, ok := item.(T)
	switch {
	// Absent comes first: without it, a missing object is already finished.
	case (!found || !ok) && c.absent != nil:
		return c.absent(ctx, key)
	case !found, !ok, !c.worth(object):
		return reconcile.Result{}, nil
	}
	defer c.dropDeleted(object)
	// Metrics of rollouts show what the cache shows, so they need not wait for the guard.
	c.deps.Rollouts.Observe(object)
	// Waiting is no success. With KeepFailures, an object that fails after each wait still backs off.
	if wait := c.guard.Wait(ctx, object); wait > 0 {
		return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
	}
	return c.reconcile(ctx, object)
}

// kindOf returns the kind of a Go type. It returns an error if T is no kind of either client, which is a fault of the constructor and
// stops the program at its start.
func kindOf[T Object]() (schema.GroupKind, error) {
	object, ok := reflect.TypeAssert[runtime.Object](reflect.New(reflect.TypeFor[T]().Elem()))
	for _, scheme := range []*runtime.Scheme{kruisescheme.Scheme, kubescheme.Scheme} {
		if kinds, _, err := scheme.ObjectKinds(object); ok && err == nil {
			return kinds[0].GroupKind(), nil
		}
	}
	return schema.GroupKind{}, fmt.Errorf("the clients do not know the kind of %s", reflect.TypeFor[T]())
}
