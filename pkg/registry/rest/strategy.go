package rest

import (
	"context"
	"fmt"
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kruise.io/kruise/pkg/apis/rules"
	"kruise.io/kruise/pkg/registry/servable"
)

// strategy is how the main resource of a kind is created, updated and deleted.
type strategy[T Object] struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind *Kind[T]
	// values says what of an object could not be shown again.
	values *servable.Rule
}

var _ genericrest.GarbageCollectionDeleteStrategy = &strategy[Object]{}

// NamespaceScoped says whether objects live in namespaces.
func (s *strategy[T]) NamespaceScoped() bool { return !s.kind.ClusterScoped }

// DefaultGarbageCollectionPolicy lets dependents go with their owner, as a Deployment's do.
func (*strategy[T]) DefaultGarbageCollectionPolicy(context.Context) genericrest.GarbageCollectionPolicy {
	return genericrest.DeleteDependents
}

// PrepareForCreate starts an object at generation 1 without a status: only the controller writes it.
func (s *strategy[T]) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	created := obj.(T)
	s.withMetadata(ctx, created, func() { clearField(s.kind.Status(created)) })
	created.SetGeneration(1)
	if s.kind.Default != nil {
		var none T
		s.kind.Default(created, none)
	}
}

// PrepareForUpdate keeps the status and counts a generation when what the user asks for has changed.
func (s *strategy[T]) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	updated, existing := obj.(T), old.(T)
	s.withMetadata(ctx, updated, func() { copyField(s.kind.Status(updated), s.kind.Status(existing)) })
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok && s.kind.Keep != nil {
		s.kind.Keep(info.APIVersion, updated, existing)
	}
	if s.kind.Default != nil {
		s.kind.Default(updated, existing)
	}
	updated.SetGeneration(existing.GetGeneration())
	if !apiequality.Semantic.DeepEqual(s.kind.Spec(updated), s.kind.Spec(existing)) {
		updated.SetGeneration(existing.GetGeneration() + 1)
	}
}

// withMetadata lets reset set the status, and keeps what the writer said about it in metadata.
func (s *strategy[T]) withMetadata(ctx context.Context, obj T, reset func()) {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok || s.kind.StatusInMetadata == nil {
		reset()
		return
	}
	written := obj.DeepCopyObject().(T)
	reset()
	s.kind.StatusInMetadata(info.APIVersion, obj, written)
}

// Validate checks a new object. Where values are none of their type, what they mean is not asked.
func (s *strategy[T]) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	errs := s.values.Validate(obj)
	if len(errs) == 0 {
		errs = s.kind.Validate(obj.(T))
	}
	return s.errorsIn(ctx, errs)
}

// ValidateUpdate checks a changed object.
func (s *strategy[T]) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return s.validateChange(ctx, obj, old, s.kind.ValidateUpdate)
}

// validateChange runs the rules of a change, and before them those of every value, as Validate does.
func (s *strategy[T]) validateChange(
	ctx context.Context, obj, old runtime.Object, judge func(obj, old T) field.ErrorList,
) field.ErrorList {
	stored := func() field.ErrorList { return s.values.Validate(old) }
	errs := rules.WithoutStored(s.values.Validate(obj), stored)
	if len(errs) == 0 {
		errs = judge(obj.(T), old.(T))
	}
	return s.errorsIn(ctx, errs)
}

// errorsIn gives the errors the paths of the version in which the user wrote the object.
func (s *strategy[T]) errorsIn(ctx context.Context, errs field.ErrorList) field.ErrorList {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok || s.kind.ErrorsIn == nil || len(errs) == 0 {
		return errs
	}
	return s.kind.ErrorsIn(info.APIVersion, errs)
}

// WarningsOnCreate tells the writer what is questionable in a new object.
func (s *strategy[T]) WarningsOnCreate(ctx context.Context, obj runtime.Object) (warnings []string) {
	if !s.kind.Controlled {
		warnings = append(warnings,
			fmt.Sprintf("nothing acts on %s in this release: the object is checked and stored, no more", s.kind.Resource()))
	}
	if s.kind.Warnings != nil {
		var none T
		warnings = append(warnings, s.kind.Warnings(ctx, obj.(T), none)...)
	}
	return warnings
}

// WarningsOnUpdate tells the writer what is questionable in a changed object.
func (s *strategy[T]) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	if s.kind.Warnings == nil {
		return nil
	}
	return s.kind.Warnings(ctx, obj.(T), old.(T))
}

// Canonicalize has nothing to do: conversion and defaulting did it.
func (*strategy[T]) Canonicalize(runtime.Object) {}

// AllowCreateOnUpdate refuses a PUT of an object that does not exist.
func (*strategy[T]) AllowCreateOnUpdate() bool { return false }

// AllowUnconditionalUpdate accepts a PUT without a resourceVersion.
func (*strategy[T]) AllowUnconditionalUpdate() bool { return true }

// GetResetFields names what PrepareForCreate and PrepareForUpdate discard, so that nobody owns it.
func (s *strategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.kind.resetFields(fieldpath.MakePathOrDie("status"))
}

func (k *Kind[T]) resetFields(paths ...fieldpath.Path) map[fieldpath.APIVersion]*fieldpath.Set {
	reset := make(map[fieldpath.APIVersion]*fieldpath.Set, len(k.Served))
	for _, version := range k.Served {
		reset[fieldpath.APIVersion(version.String())] = fieldpath.NewSet(paths...)
	}
	return reset
}

// clearField sets the field behind the pointer to its zero value.
func clearField(pointer any) { reflect.ValueOf(pointer).Elem().SetZero() }

// copyField copies between two pointers of one type. The two objects share what it refers to.
func copyField(to, from any) { reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem()) }
