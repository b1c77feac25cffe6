package rest

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Scale describes /scale of a kind. The desired replicas must be at spec.replicas in every served version, because
// field ownership through /scale uses that path.
type Scale[T Object] struct {
	// Replicas returns the desired replicas. SetReplicas changes them.
	Replicas    func(T) int32
	SetReplicas func(T, int32)
	// Current returns the existing replicas.
	Current func(T) int32
	// Selector returns the Pod selector for autoscalers.
	Selector func(T) *metav1.LabelSelector
}

// of converts the object to a Scale. The metadata is reduced to what clients of /scale need, as that of built-in kinds. The selector in
// the status is text, because autoscalers of all versions read it so.
func (s *Scale[T]) of(obj T) (*autoscalingv1.Scale, error) {
	selector, err := metav1.LabelSelectorAsSelector(s.Selector(obj))
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("spec.selector: %v", err))
	}
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
			ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: s.Replicas(obj)},
		Status: autoscalingv1.ScaleStatus{Replicas: s.Current(obj), Selector: selector.String()},
	}, nil
}

// scaleStrategy is the strategy of /scale.
type scaleStrategy[T Object] struct {
	*strategy[T]
}

// ValidateUpdate refuses nothing, because scaledObjectInfo has validated the replicas, and nothing else changes. An autoscaler cannot
// correct the rest of the spec. If the controller cannot reach the new number, it says so in the status and by an event.
func (*scaleStrategy[T]) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

// scaleREST serves /scale with the store of the main resource.
type scaleREST[T Object] struct {
	kind  *Kind[T]
	store *registry.Store
	paths managedfields.ResourcePathMappings
}

var (
	_ genericrest.Patcher                  = &scaleREST[Object]{}
	_ genericrest.GroupVersionKindProvider = &scaleREST[Object]{}
)

// newScaleREST registers, for every served version, where the replicas of the Scale are in the object. Server-side apply needs this to
// move field ownership between the two.
func newScaleREST[T Object](kind *Kind[T], store *registry.Store) *scaleREST[T] {
	paths := managedfields.ResourcePathMappings{}
	for _, version := range kind.Served {
		paths[version.String()] = fieldpath.MakePathOrDie("spec", "replicas")
	}
	return &scaleREST[T]{kind: kind, store: store, paths: paths}
}

// GroupVersionKind returns the kind Scale, for every version of the object.
func (*scaleREST[T]) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

// New returns an empty Scale for decoding.
func (*scaleREST[T]) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy does nothing, because the main resource owns the store.
func (*scaleREST[T]) Destroy() {}

// Get returns the object as a Scale.
func (r *scaleREST[T]) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.kind.Scale.of(obj.(T))
}

// Update changes the desired replicas. The write is one of the main resource, so defaulting and generation are the same.
func (r *scaleREST[T]) Update(
	ctx context.Context, name string, info genericrest.UpdatedObjectInfo, create genericrest.ValidateObjectFunc,
	update genericrest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	obj, _, err := r.store.Update(ctx, name, &scaledObjectInfo[T]{scaleREST: r, info: info, name: name},
		r.admitCreate(create), r.admitUpdate(update), false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.kind.Scale.of(obj.(T))
	return scale, false, err
}

// ConvertToTable prints a Scale.
func (*scaleREST[T]) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return scaleTable.ConvertToTable(ctx, obj, options)
}

var scaleTable = &tableConvertor[*autoscalingv1.Scale]{kind: &Kind[*autoscalingv1.Scale]{
	Plural: "scales",
	Columns: []Column[*autoscalingv1.Scale]{
		{Name: "DESIRED", Type: "integer", Description: "Number of desired Pods.",
			Value: func(s *autoscalingv1.Scale) any { return int64(s.Spec.Replicas) }},
		{Name: "TOTAL", Type: "integer", Description: "Number of existing Pods.",
			Value: func(s *autoscalingv1.Scale) any { return int64(s.Status.Replicas) }},
		Age[*autoscalingv1.Scale](),
	},
}}

// admitCreate and admitUpdate pass to admission the Scale that the user wrote, and not the object behind it.
func (r *scaleREST[T]) admitCreate(admit genericrest.ValidateObjectFunc) genericrest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		scale, err := r.kind.Scale.of(obj.(T))
		if err != nil {
			return err
		}
		return admit(ctx, scale)
	}
}

func (r *scaleREST[T]) admitUpdate(admit genericrest.ValidateObjectUpdateFunc) genericrest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		scale, err := r.kind.Scale.of(obj.(T))
		if err != nil {
			return err
		}
		oldScale, err := r.kind.Scale.of(old.(T))
		if err != nil {
			return err
		}
		return admit(ctx, scale, oldScale)
	}
}

// scaledObjectInfo converts the existing object to a Scale, applies the request to the Scale, and copies the result to the object.
type scaledObjectInfo[T Object] struct {
	*scaleREST[T]
	info genericrest.UpdatedObjectInfo
	name string
}

// Preconditions returns the preconditions of the request.
func (i *scaledObjectInfo[T]) Preconditions() *metav1.Preconditions { return i.info.Preconditions() }

// UpdatedObject returns the object with the replicas and the field owners of the request. An empty resource version means that the object
// does not exist: the store calls this also for an object that it would create, and a Scale cannot create one.
func (i *scaledObjectInfo[T]) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj := old.DeepCopyObject().(T)
	if obj.GetResourceVersion() == "" {
		return nil, apierrors.NewNotFound(i.subresource(), i.name)
	}
	fields := managedfields.NewScaleHandler(obj.GetManagedFields(), i.requestVersion(ctx), i.paths)
	oldScale, err := i.kind.Scale.of(obj)
	if err != nil {
		return nil, err
	}
	if oldScale.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, err
	}
	scale, err := i.changed(ctx, oldScale)
	if err != nil {
		return nil, err
	}
	i.kind.Scale.SetReplicas(obj, scale.Spec.Replicas)
	obj.SetResourceVersion(scale.ResourceVersion) // The store checks it for conflicts.
	entries, err := fields.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	obj.SetManagedFields(entries)
	return obj, nil
}

// changed applies the request to the Scale and validates the result. A UID in the request is a precondition: the object may have been
// deleted and created again with the same name.
func (i *scaledObjectInfo[T]) changed(ctx context.Context, old *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	updated, err := i.info.UpdatedObject(ctx, old)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected a Scale, got %T", updated))
	}
	errs := validation.ValidateNonnegativeField(int64(scale.Spec.Replicas), field.NewPath("spec", "replicas"))
	if len(errs) > 0 {
		kind := schema.GroupKind{Group: autoscalingv1.GroupName, Kind: "Scale"}
		return nil, apierrors.NewInvalid(kind, i.name, errs)
	}
	if scale.UID != "" && scale.UID != old.UID {
		return nil, apierrors.NewConflict(i.subresource(), i.name,
			fmt.Errorf("precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, old.UID))
	}
	return scale, nil
}

func (i *scaledObjectInfo[T]) subresource() schema.GroupResource {
	resource := i.kind.Resource()
	resource.Resource += "/scale"
	return resource
}

// requestVersion returns the version under which the fields of the object are owned.
func (i *scaledObjectInfo[T]) requestVersion(ctx context.Context) schema.GroupVersion {
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok {
		version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
		if _, served := i.paths[version.String()]; served {
			return version
		}
	}
	return i.kind.Stored
}
