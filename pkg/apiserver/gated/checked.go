package gated

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// checked asks the gate before and after each call. If the gate closes during a call, the answer is dropped. A
// NotFound from a wrong store would be dangerous: an admission plugin would allow the request, and the garbage
// collector would delete the dependents.
type checked struct {
	storage.Interface
	gate Gate
}

// read calls the storage between two checks of the gate. The error of the closed gate replaces the answer, also a
// successful one.
func (c *checked) read(call func() error) error {
	if err := c.gate.Check(); err != nil {
		return err
	}
	err := call()
	if closed := c.gate.Check(); closed != nil {
		return closed
	}
	return err
}

// write is read for a call that can change the store. It tells the gate before the write, because a write can succeed
// without an answer.
func (c *checked) write(call func() error) error {
	return c.read(func() error {
		c.gate.Wrote()
		return c.gate.Explain(call())
	})
}

// Create implements storage.Interface.
func (c *checked) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	return c.write(func() error { return c.Interface.Create(ctx, key, obj, out, ttl) })
}

// Delete implements storage.Interface. It is a write, but needs no room.
func (c *checked) Delete(
	ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc,
	cachedExistingObject runtime.Object, opts storage.DeleteOptions,
) error {
	return c.write(func() error {
		return c.Interface.Delete(ctx, key, out, preconditions, validate, cachedExistingObject, opts)
	})
}

// Watch implements storage.Interface. The gate is checked only when the watch begins. If the gate closes later, the
// process exits, which ends all watches.
func (c *checked) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	var events watch.Interface
	err := c.read(func() (err error) {
		events, err = c.Interface.Watch(ctx, key, opts)
		return err
	})
	if err != nil {
		if events != nil {
			events.Stop()
		}
		return nil, err
	}
	return events, nil
}

// Get implements storage.Interface.
func (c *checked) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	return c.read(func() error { return c.Interface.Get(ctx, key, opts, out) })
}

// GetList implements storage.Interface.
func (c *checked) GetList(ctx context.Context, key string, opts storage.ListOptions, list runtime.Object) error {
	return c.read(func() error { return c.Interface.GetList(ctx, key, opts, list) })
}

// GuaranteedUpdate implements storage.Interface.
func (c *checked) GuaranteedUpdate(
	ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cachedExistingObject runtime.Object,
) error {
	return c.write(func() error {
		return c.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, cachedExistingObject)
	})
}
