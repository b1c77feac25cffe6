package gated

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
)

// deferred is the storage of one kind. It refuses each call with 503 until it is open.
type deferred struct {
	// resource is for messages. open connects to the store and fills the watch cache; it is set once and called by
	// openOnce only.
	resource schema.GroupResource
	gate     Gate
	open     func() (storage.Interface, factory.DestroyFunc, error)

	// opened is nil until the storage is open. Requests read it without a lock.
	opened atomic.Pointer[storage.Interface]

	// lock guards ended and release. ended is true after destroy. release closes the open storage; it is nil while
	// there is none.
	lock    sync.Mutex
	ended   bool
	release factory.DestroyFunc
}

var _ storage.Interface = &deferred{}

var errStopped = errors.New("the server is shutting down")

// openOnce opens the storage if it is not open. After an error it can be called again. Storages.Open calls it for one
// storage at a time, so open never runs twice at once.
func (d *deferred) openOnce() error {
	if d.opened.Load() != nil {
		return nil
	}
	inner, release, err := d.open()
	if err != nil {
		return err
	}
	// The server may have stopped while open was running. Then nobody else would close the storage.
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.ended {
		release()
		return errStopped
	}
	d.release = release
	d.opened.Store(&inner)
	return nil
}

// destroy closes the storage, or makes openOnce close it as soon as it is open.
func (d *deferred) destroy() {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.ended = true
	if d.release != nil {
		d.release()
		d.release = nil
	}
}

// get returns the storage, or an error if it is not open. The error of the gate comes first, because it says why the
// store is closed. It is never NotFound.
func (d *deferred) get() (storage.Interface, error) {
	if inner := d.opened.Load(); inner != nil {
		return *inner, nil
	}
	if err := d.gate.Check(); err != nil {
		return nil, err
	}
	return nil, apierrors.NewServiceUnavailable("the store of " + d.resource.String() + " is not open yet; try again in a few seconds")
}

// Versioner implements storage.Interface. It does not depend on the store, and the registry needs it before the
// storage is open.
func (d *deferred) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// Create implements storage.Interface.
func (d *deferred) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	inner, err := d.get()
	if err != nil {
		return err
	}
	return inner.Create(ctx, key, obj, out, ttl)
}

// Delete implements storage.Interface.
func (d *deferred) Delete(
	ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc,
	cachedExistingObject runtime.Object, opts storage.DeleteOptions,
) error {
	inner, err := d.get()
	if err != nil {
		return err
	}
	return inner.Delete(ctx, key, out, preconditions, validate, cachedExistingObject, opts)
}

// Watch implements storage.Interface.
func (d *deferred) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	inner, err := d.get()
	if err != nil {
		return nil, err
	}
	return inner.Watch(ctx, key, opts)
}

// Get implements storage.Interface.
func (d *deferred) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	inner, err := d.get()
	if err != nil {
		return err
	}
	return inner.Get(ctx, key, opts, out)
}

// GetList implements storage.Interface.
func (d *deferred) GetList(ctx context.Context, key string, opts storage.ListOptions, list runtime.Object) error {
	inner, err := d.get()
	if err != nil {
		return err
	}
	return inner.GetList(ctx, key, opts, list)
}

// GuaranteedUpdate implements storage.Interface.
func (d *deferred) GuaranteedUpdate(
	ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cachedExistingObject runtime.Object,
) error {
	inner, err := d.get()
	if err != nil {
		return err
	}
	return inner.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, cachedExistingObject)
}

// Stats implements storage.Interface.
func (d *deferred) Stats(ctx context.Context) (storage.Stats, error) {
	inner, err := d.get()
	if err != nil {
		return storage.Stats{}, err
	}
	return inner.Stats(ctx)
}

// ReadinessCheck implements storage.Interface.
func (d *deferred) ReadinessCheck() error {
	inner, err := d.get()
	if err != nil {
		return err
	}
	return inner.ReadinessCheck()
}

// RequestWatchProgress implements storage.Interface.
func (d *deferred) RequestWatchProgress(ctx context.Context) error {
	inner, err := d.get()
	if err != nil {
		return err
	}
	return inner.RequestWatchProgress(ctx)
}

// GetCurrentResourceVersion implements storage.Interface.
func (d *deferred) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	inner, err := d.get()
	if err != nil {
		return 0, err
	}
	return inner.GetCurrentResourceVersion(ctx)
}

// EnableResourceSizeEstimation implements storage.Interface.
func (d *deferred) EnableResourceSizeEstimation(keys storage.KeysFunc) error {
	inner, err := d.get()
	if err != nil {
		return err
	}
	return inner.EnableResourceSizeEstimation(keys)
}

// CompactRevision implements storage.Interface. Zero means that nothing was compacted, which is also true before the
// storage is open.
func (d *deferred) CompactRevision() int64 {
	inner, err := d.get()
	if err != nil {
		return 0
	}
	return inner.CompactRevision()
}
