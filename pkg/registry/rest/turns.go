package rest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
)

// Turns lets one request at a time write the objects of a kind, among all servers of the installation.
type Turns interface {
	// Take waits until it is the caller's turn for the named kind, or ctx ends. The turn lasts until done is called. If it is lost
	// before, the returned context ends: what was checked in this turn must not be written then.
	Take(ctx context.Context, kind string) (turn context.Context, done func(), err error)
}

// TakeTurns implements Row.
func (k *Kind[T]) TakeTurns(storages map[string]genericrest.Storage, turns Turns) {
	if main, ok := storages[k.Plural].(*store[T]); ok && k.Exclusive {
		main.turns = turns
	}
}

// Create creates an object. Admission runs in the same turn as the write.
func (s *store[T]) Create(
	ctx context.Context, obj runtime.Object, validate genericrest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	ctx, done, err := s.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return s.Store.Create(ctx, obj, validate, options)
}

// Update changes an object, or creates it. Admission runs in the same turn as the write.
func (s *store[T]) Update(
	ctx context.Context, name string, objInfo genericrest.UpdatedObjectInfo, validateCreate genericrest.ValidateObjectFunc,
	validateUpdate genericrest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	ctx, done, err := s.turn(ctx)
	if err != nil {
		return nil, false, err
	}
	defer done()
	return s.Store.Update(ctx, name, objInfo, validateCreate, validateUpdate, forceAllowCreate, options)
}

// turn waits for the turn of the kind. It returns at once if the kind is not exclusive.
func (s *store[T]) turn(ctx context.Context) (context.Context, func(), error) {
	if s.turns == nil {
		return ctx, func() {}, nil
	}
	turn, done, err := s.turns.Take(ctx, s.kind.Plural)
	if err != nil {
		return nil, nil, apierrors.NewTimeoutError(fmt.Sprintf(
			"other writes of %s, which are made one at a time, have not ended in time; try again: %v", s.kind.Plural, err), 1)
	}
	return turn, done, nil
}
