package rest

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
)

// refreshPeriod is the time between two questions for the progress of etcd during a turn.
const refreshPeriod = 10 * time.Millisecond

// Turns lets one request at a time write a set of objects, among all servers of the installation.
type Turns interface {
	// Take waits until it is the caller's turn for the named set, or ctx ends. The turn lasts until done is called. If it is lost
	// or takes too long, the returned context ends before: what was checked in this turn must not be written then. An error that is an API
	// status, also as the cause of that context, is the answer to the client.
	Take(ctx context.Context, set string) (turn context.Context, done func(), err error)
}

// Effects waits until the other parts of the server act on a write.
type Effects interface {
	// Await returns when the server acts on the object as it was written, or when it was deleted. It also returns when ctx ends or
	// when it takes too long, and then warns the client.
	Await(ctx context.Context, kind string, written metav1.Object, deleted bool)
}

// AwaitEffects implements AnyKind.
func (k *Kind[T]) AwaitEffects(storages map[string]genericrest.Storage, effects Effects) {
	if main, ok := storages[k.Plural].(*store[T]); ok {
		main.effects = effects
	}
}

// TakeTurns implements AnyKind.
func (k *Kind[T]) TakeTurns(storages map[string]genericrest.Storage, turns Turns) {
	if main, ok := storages[k.Plural].(*store[T]); ok && k.Exclusive {
		main.turns = turns
	}
}

// Create creates an object. Admission runs in the same turn as the write. The turn ends before the wait for the effects, so that the next
// writer need not wait for them too.
func (s *store[T]) Create(
	ctx context.Context, obj runtime.Object, validate genericrest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	turn, done, err := s.turn(ctx, options.DryRun)
	if err != nil {
		return nil, err
	}
	created, err := func() (runtime.Object, error) {
		defer done() // Also after a panic, which ends only this request.
		created, err := s.Store.Create(turn, obj, validate, options)
		return created, withinTurn(turn, err)
	}()
	if err == nil && len(options.DryRun) == 0 {
		s.await(ctx, created, false)
	}
	return created, err
}

// Update changes an object, or creates it. Admission runs in the same turn as the write.
func (s *store[T]) Update(
	ctx context.Context, name string, objInfo genericrest.UpdatedObjectInfo, validateCreate genericrest.ValidateObjectFunc,
	validateUpdate genericrest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	turn, done, err := s.turn(ctx, options.DryRun)
	if err != nil {
		return nil, false, err
	}
	updated, isNew, err := func() (runtime.Object, bool, error) {
		defer done() // Also after a panic, which ends only this request. The patch of a user is applied here.
		updated, isNew, err := s.Store.Update(turn, name, objInfo, validateCreate, validateUpdate, forceAllowCreate, options)
		return updated, isNew, withinTurn(turn, err)
	}()
	if err == nil && len(options.DryRun) == 0 {
		s.await(ctx, updated, false)
	}
	return updated, isNew, err
}

// Delete deletes an object. It takes no turn, because a deletion cannot cause a conflict between two objects. It waits for the effects
// only if the object is gone: an object with finalizers still has its effects.
func (s *store[T]) Delete(
	ctx context.Context, name string, validate genericrest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	deleted, immediately, err := s.Store.Delete(ctx, name, validate, options)
	// The answer to a deletion is a Status, which has the identity of the object.
	status, ok := deleted.(*metav1.Status)
	if err == nil && !onlyTried(options) && immediately && ok && status.Details != nil {
		s.await(ctx, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: genericapirequest.NamespaceValue(ctx), Name: status.Details.Name, UID: status.Details.UID,
		}}, true)
	}
	return deleted, immediately, err
}

// DeleteCollection deletes objects, and waits for the effects as Delete does.
func (s *store[T]) DeleteCollection(
	ctx context.Context, validate genericrest.ValidateObjectFunc, options *metav1.DeleteOptions, list *metainternalversion.ListOptions,
) (runtime.Object, error) {
	deleted, err := s.Store.DeleteCollection(ctx, validate, options, list)
	if err != nil || s.effects == nil || onlyTried(options) || keepsObjects(options) {
		return deleted, err
	}
	return deleted, meta.EachListItem(deleted, func(item runtime.Object) error {
		if object, ok := item.(metav1.Object); ok && len(object.GetFinalizers()) == 0 {
			s.await(ctx, item, true)
		}
		return nil
	})
}

// onlyTried reports whether a deletion is a dry run.
func onlyTried(options *metav1.DeleteOptions) bool { return options != nil && len(options.DryRun) > 0 }

// keepsObjects reports whether a deletion gives the objects a finalizer for the garbage collector, so that they stay for now.
func keepsObjects(options *metav1.DeleteOptions) bool {
	return options != nil && options.PropagationPolicy != nil && *options.PropagationPolicy != metav1.DeletePropagationBackground
}

// await waits until the server acts on a write, if somebody has to. The write has succeeded in any case, so await returns no error.
func (s *store[T]) await(ctx context.Context, written runtime.Object, deleted bool) {
	if object, ok := written.(metav1.Object); ok && s.effects != nil {
		s.effects.Await(ctx, s.kind.Plural, object, deleted)
	}
}

// turn waits for the turn of the object. It returns at once if the kind is not exclusive, and for a dry run: that writes nothing, so nobody
// has to wait for it. Objects of different namespaces cannot conflict, so their writers do not wait for each other: a user's patch, quota
// or webhook is part of the turn. The returned function must be called, also after an error or a panic of the write. Nothing was written if
// it returns an error.
func (s *store[T]) turn(ctx context.Context, dryRun []string) (context.Context, func(), error) {
	if s.turns == nil || len(dryRun) > 0 {
		return ctx, func() {}, nil
	}
	set := s.kind.Plural
	if !s.kind.ClusterScoped {
		set += "/" + genericapirequest.NamespaceValue(ctx)
	}
	turn, done, err := s.turns.Take(ctx, set)
	if err != nil {
		return nil, nil, s.notTaken(ctx, err)
	}
	go s.refresh(turn)
	return turn, done, nil
}

// withinTurn returns the answer to a write that failed because its turn has ended, and other errors unchanged.
func withinTurn(turn context.Context, err error) error {
	if err == nil || turn.Err() == nil {
		return err
	}
	if ended, chosen := errors.AsType[*apierrors.StatusError](context.Cause(turn)); chosen {
		return ended
	}
	return err
}

// notTaken returns the error for the client of a request that got no turn: 504 if its time is over, the answer that Take has chosen, for
// example for a full store, or 503 if etcd failed.
func (s *store[T]) notTaken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return apierrors.NewTimeoutError(fmt.Sprintf(
			"other writes of %s, which are made one at a time, have not ended in time; try again: %v", s.kind.Plural, err), 1)
	}
	if _, chosen := errors.AsType[*apierrors.StatusError](err); chosen {
		return err
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("writes of %s, which are made one at a time, are not possible: %v", s.kind.Plural, err))
}

// refresh asks etcd for its progress while a turn lasts. Admission lists the objects of the kind. The lock of the turn is a newer write
// than the watch cache has seen, and the cache by itself asks for the progress only every 100 ms.
func (s *store[T]) refresh(turn context.Context) {
	tick := time.NewTicker(refreshPeriod)
	defer tick.Stop()
	for {
		_ = s.Storage.Storage.RequestWatchProgress(turn) // If it fails, the list waits until the cache asks.
		select {
		case <-turn.Done():
			return
		case <-tick.C:
		}
	}
}
