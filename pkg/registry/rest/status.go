package rest

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// statusStrategy changes only the status of an object. It serves /status. It inherits the rules of creation and deletion, which the
// generic store asks for but /status does not serve.
type statusStrategy[T Object] struct {
	*strategy[T]
}

// PrepareForUpdate takes only the status from the new object. A controller that writes a status from a stale cache can thus never bring
// back an old spec, old labels or a removed finalizer. Managed fields are left alone: the server itself maintains them.
func (s *statusStrategy[T]) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	updated, existing := obj.(T), old.(T)
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok && s.kind.StatusInMetadata != nil {
		s.kind.StatusInMetadata(info.APIVersion, updated, existing)
	}
	copyField(s.kind.Spec(updated), s.kind.Spec(existing))
	updated.SetGeneration(existing.GetGeneration())
	updated.SetLabels(existing.GetLabels())
	updated.SetAnnotations(existing.GetAnnotations())
	updated.SetFinalizers(existing.GetFinalizers())
	updated.SetOwnerReferences(existing.GetOwnerReferences())
}

// ValidateUpdate validates only the status, because the rest is unchanged.
func (s *statusStrategy[T]) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return s.validateChange(ctx, obj, old, s.kind.ValidateStatus)
}

// WarningsOnUpdate returns no warnings, because controllers write statuses and nobody reads their warnings.
func (*statusStrategy[T]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// GetResetFields returns the fields that PrepareForUpdate discards.
func (s *statusStrategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.kind.resetFields(
		fieldpath.MakePathOrDie("spec"),
		fieldpath.MakePathOrDie("metadata", "labels"),
		fieldpath.MakePathOrDie("metadata", "annotations"),
		fieldpath.MakePathOrDie("metadata", "finalizers"),
		fieldpath.MakePathOrDie("metadata", "ownerReferences"),
	)
}

// statusREST serves /status. It uses the store of the main resource with another strategy, so both share one watch cache and one
// resource version for each object.
type statusREST struct {
	store *registry.Store
}

var (
	_ genericrest.Patcher             = &statusREST{}
	_ genericrest.ResetFieldsStrategy = &statusREST{}
)

// New returns an empty object for decoding.
func (r *statusREST) New() runtime.Object { return r.store.New() }

// Destroy does nothing, because the main resource owns the store.
func (*statusREST) Destroy() {}

// Get returns the whole object. A patch of /status reads it first.
func (r *statusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update updates the status.
func (r *statusREST) Update(
	ctx context.Context, name string, info genericrest.UpdatedObjectInfo, create genericrest.ValidateObjectFunc,
	update genericrest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	// A write to a subresource never creates the object.
	return r.store.Update(ctx, name, info, create, update, false, options)
}

// GetResetFields returns the reset fields of the strategy.
func (r *statusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable prints the whole object.
func (r *statusREST) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, obj, options)
}
