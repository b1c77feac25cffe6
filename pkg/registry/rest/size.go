package rest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// deletionBookkeeping is how many bytes a deletion may add to an object: the deletion time, finalizers, and the
// managed fields of the clients that remove them.
const deletionBookkeeping = 4 << 10

// sizeLimit refuses, with 413, an object whose encoded form is too large for the store. Otherwise the user would get
// an internal error from etcd. An object that was stored under a higher limit may shrink, and can be deleted.
type sizeLimit struct {
	codec runtime.Codec
	bytes int
}

// check returns an error if the object is too large. It calls stored only then, because that may cost a read and an encoding. stored
// returns nil if there is no stored object.
func (l *sizeLimit) check(obj runtime.Object, stored func() runtime.Object) error {
	size, err := l.size(obj)
	if err != nil || size <= l.bytes {
		return nil //nolint:nilerr // what else is wrong with it, the write itself will say
	}
	if old := stored(); old != nil {
		if before, err := l.size(old); err == nil && size <= before+mayGrow(obj) {
			return nil
		}
	}
	return tooLarge(size, l.bytes)
}

func (l *sizeLimit) size(obj runtime.Object) (int, error) {
	var counter countingWriter
	err := l.codec.Encode(obj, &counter)
	return int(counter), err
}

// mayGrow returns by how many bytes the object may be larger than the stored one. A terminating object must be able to take the records of
// its deletion, or it could never be deleted.
func mayGrow(obj runtime.Object) int {
	if accessor, err := meta.Accessor(obj); err != nil || accessor.GetDeletionTimestamp() == nil {
		return 0
	}
	return deletionBookkeeping
}

func tooLarge(size, limit int) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"the object needs %d bytes in the store, but the limit is %d bytes (--max-object-bytes); move large data to a ConfigMap or a volume",
		size, limit))
}

// countingWriter counts bytes and keeps none, so measuring a large object needs no second copy of it.
type countingWriter int

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}

// nothing is the stored object of a creation.
func nothing() runtime.Object { return nil }

// limitedOptions open stores with limitedStorage. It cannot be added later: the generic store counts its objects from another goroutine
// as soon as it is open.
type limitedOptions struct {
	generic.RESTOptionsGetter
	limit *sizeLimit
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (o *limitedOptions) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := o.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return options, err
	}
	open := options.Decorator
	options.Decorator = func(
		config *storagebackend.ConfigForResource, prefix string, keyOf func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		opened, destroy, err := open(config, prefix, keyOf, newFunc, newListFunc, attributes, triggers, indexers)
		if err != nil {
			return nil, destroy, err
		}
		o.limit.codec = config.Codec
		return &limitedStorage{Interface: opened, limit: o.limit, newFunc: newFunc}, destroy, nil
	}
	return options, nil
}

// limitedStorage checks the size of each object before it is written.
type limitedStorage struct {
	storage.Interface
	limit   *sizeLimit
	newFunc func() runtime.Object
}

// Create implements storage.Interface.
func (s *limitedStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if err := s.limit.check(obj, nothing); err != nil {
		return err
	}
	return s.Interface.Create(ctx, key, obj, out, ttl)
}

// GuaranteedUpdate implements storage.Interface. tryUpdate may modify the object that it gets, so the stored object
// is decoded again if its size is needed.
func (s *limitedStorage) GuaranteedUpdate(
	ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cachedExistingObject runtime.Object,
) error {
	stored := func() runtime.Object {
		old := s.newFunc()
		if err := s.Get(ctx, key, storage.GetOptions{}, old); err != nil {
			return nil
		}
		return old
	}
	checked := func(input runtime.Object, response storage.ResponseMeta) (runtime.Object, *uint64, error) {
		output, ttl, err := tryUpdate(input, response)
		if err == nil {
			err = s.limit.check(output, stored)
		}
		return output, ttl, err
	}
	return s.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, checked, cachedExistingObject)
}

type bodySizeKey struct{}

// WithBodySize stores the declared size of the request body in ctx, in bytes. A negative size means unknown.
func WithBodySize(ctx context.Context, size int64) context.Context {
	return context.WithValue(ctx, bodySizeKey{}, size)
}

// earlySizeCheck reports a too large object before validation reports one of its long fields. It also checks dry runs, which
// do not reach the store. The check encodes the object once more, so it skips other requests whose body was small enough.
type earlySizeCheck struct {
	limit *sizeLimit
}

func (c *earlySizeCheck) beginCreate(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (registry.FinishFunc, error) {
	return func(context.Context, bool) {}, c.check(ctx, len(options.DryRun) > 0, obj, nothing)
}

func (c *earlySizeCheck) beginUpdate(
	ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions,
) (registry.FinishFunc, error) {
	return func(context.Context, bool) {}, c.check(ctx, len(options.DryRun) > 0, obj, func() runtime.Object { return old })
}

func (c *earlySizeCheck) check(ctx context.Context, dryRun bool, obj runtime.Object, stored func() runtime.Object) error {
	body, ok := ctx.Value(bodySizeKey{}).(int64)
	if dryRun || ok && (body < 0 || body > int64(c.limit.bytes)) {
		return c.limit.check(obj, stored)
	}
	return nil
}
