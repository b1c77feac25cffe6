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

// strategy defines how objects of a kind are created, updated and deleted. The generic store calls it for every write, after it has
// decoded the object to the hub type and before it encodes the stored version. It has no state, so requests share it.
type strategy[T Object] struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind *Kind[T]
	// values finds values that JSON cannot represent.
	values *servable.Rule
	// elements counts the elements of an object.
	elements elements
}

var _ genericrest.GarbageCollectionDeleteStrategy = &strategy[Object]{}

// NamespaceScoped returns true if the kind is namespaced.
func (s *strategy[T]) NamespaceScoped() bool { return !s.kind.ClusterScoped }

// DefaultGarbageCollectionPolicy deletes the dependents with their owner, as for a Deployment.
func (*strategy[T]) DefaultGarbageCollectionPolicy(context.Context) genericrest.GarbageCollectionPolicy {
	return genericrest.DeleteDependents
}

// PrepareForCreate sets generation 1 and clears the status, because only the controller writes the status. A manifest that was read from
// a cluster and has a status is thus accepted. Defaults come last, so they see the object as it will be stored.
func (s *strategy[T]) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	created := obj.(T)
	s.withMetadata(ctx, created, func() { clearField(s.kind.Status(created)) })
	created.SetGeneration(1)
	if s.kind.Default != nil {
		var none T
		s.kind.Default(created, none)
	}
}

// PrepareForUpdate keeps the stored status. It increases the generation if the spec has changed. Keep runs before the defaults: a field
// that the version of the request does not have must keep its stored value and not get a default.
func (s *strategy[T]) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	updated, existing := obj.(T), old.(T)
	s.withMetadata(ctx, updated, func() { copyField(s.kind.Status(updated), s.kind.Status(existing)) })
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok && s.kind.Keep != nil {
		s.kind.Keep(info.APIVersion, updated, existing)
	}
	if s.kind.Default != nil {
		s.kind.Default(updated, existing)
	}
	// Clients cannot set the generation. The comparison treats nil and empty lists as equal, because protobuf does not store the
	// difference: without it, a write that changes nothing would start a rollout.
	updated.SetGeneration(existing.GetGeneration())
	if !apiequality.Semantic.DeepEqual(s.kind.Spec(updated), s.kind.Spec(existing)) {
		updated.SetGeneration(existing.GetGeneration() + 1)
	}
}

// withMetadata calls reset, which sets the status, and then restores the part of the status that the writer stored in metadata. Only
// kinds with StatusInMetadata pay for the copy. Without request info, as in a write by the server itself, there is nothing to restore.
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

// Validate validates a new object. If it has too many elements, or a value that cannot be represented in JSON, the other rules do not run.
func (s *strategy[T]) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	errs := s.elements.check(obj)
	if len(errs) == 0 {
		errs = s.values.Validate(obj)
	}
	if len(errs) == 0 {
		errs = s.kind.Validate(obj.(T))
	}
	return s.errorsIn(ctx, obj.(T), errs)
}

// ValidateUpdate validates a changed object.
func (s *strategy[T]) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	errs := rules.WithoutStored(obj, old, s.elements.check(obj), func() field.ErrorList { return s.elements.check(old) })
	if len(errs) > 0 {
		return errs
	}
	return s.validateChange(ctx, obj, old, s.kind.ValidateUpdate)
}

// validateChange validates every value first, as Validate does, and then runs the rules of the change. A value that is stored already is
// not refused again: an object from an older release must stay changeable. judge gets the new object and the stored one.
func (s *strategy[T]) validateChange(
	ctx context.Context, obj, old runtime.Object, judge func(obj, old T) field.ErrorList,
) field.ErrorList {
	stored := func() field.ErrorList { return s.values.Validate(old) }
	errs := rules.WithoutStored(obj, old, s.values.Validate(obj), stored)
	if len(errs) == 0 {
		errs = judge(obj.(T), old.(T))
	}
	return s.errorsIn(ctx, obj.(T), errs)
}

// errorsIn returns the errors that the client is told. It translates their paths to the version of the request, because validation runs on
// the hub type and names its fields.
func (s *strategy[T]) errorsIn(ctx context.Context, obj T, errs field.ErrorList) field.ErrorList {
	errs = rules.Shown(errs)
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok || s.kind.ErrorsIn == nil || len(errs) == 0 {
		return errs
	}
	version := info.APIVersion
	if s.kind.WrittenIn != nil {
		version = s.kind.WrittenIn(version, obj)
	}
	return s.kind.ErrorsIn(version, errs)
}

// WarningsOnCreate returns warnings about a new object. kubectl prints them; they do not refuse the request.
func (s *strategy[T]) WarningsOnCreate(ctx context.Context, obj runtime.Object) (warnings []string) {
	if !s.kind.Controlled {
		warnings = append(warnings,
			fmt.Sprintf("%s is stored, but no controller reconciles it yet", s.kind.Resource()))
	}
	if s.kind.Warnings != nil {
		var none T
		warnings = append(warnings, s.kind.Warnings(ctx, obj.(T), none)...)
	}
	return warnings
}

// WarningsOnUpdate returns warnings about a changed object.
func (s *strategy[T]) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	if s.kind.Warnings == nil {
		return nil
	}
	return s.kind.Warnings(ctx, obj.(T), old.(T))
}

// Canonicalize does nothing, because conversion and defaulting have normalized the object.
func (*strategy[T]) Canonicalize(runtime.Object) {}

// AllowCreateOnUpdate returns false, so a PUT of a missing object is refused.
func (*strategy[T]) AllowCreateOnUpdate() bool { return false }

// AllowUnconditionalUpdate returns true, so a PUT needs no resourceVersion.
func (*strategy[T]) AllowUnconditionalUpdate() bool { return true }

// GetResetFields returns the fields that PrepareForCreate and PrepareForUpdate discard. No client becomes their owner.
func (s *strategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.kind.resetFields(fieldpath.MakePathOrDie("status"))
}

// resetFields returns the paths for every served version, because field managers record the version that they wrote in.
func (k *Kind[T]) resetFields(paths ...fieldpath.Path) map[fieldpath.APIVersion]*fieldpath.Set {
	reset := make(map[fieldpath.APIVersion]*fieldpath.Set, len(k.Served))
	for _, version := range k.Served {
		reset[fieldpath.APIVersion(version.String())] = fieldpath.NewSet(paths...)
	}
	return reset
}

// clearField sets the field behind the pointer to its zero value.
func clearField(pointer any) { reflect.ValueOf(pointer).Elem().SetZero() }

// copyField copies a value between two pointers of the same type. It is a shallow copy: the old object is not used after the write, so
// both may share memory.
func copyField(to, from any) { reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem()) }
