package rest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic/registry"
)

// door refuses, with 403, to create or change objects of a kind whose feature gate is off, because no controller
// would act on them. Stored objects can still be read and deleted, and their status can be updated. Finalizers can be
// removed from a terminating object.
type door struct {
	resource schema.GroupResource
	// gate is the name of the disabled feature gate, or empty.
	gate string
	next *earlySizeCheck
}

func (d *door) beginCreate(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (registry.FinishFunc, error) {
	if err := d.check(obj, false); err != nil {
		return nil, err
	}
	return d.next.beginCreate(ctx, obj, options)
}

func (d *door) beginUpdate(ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (registry.FinishFunc, error) {
	stored, err := meta.Accessor(old)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of a stored object: %w", err)
	}
	if err := d.check(obj, stored.GetDeletionTimestamp() != nil); err != nil {
		return nil, err
	}
	return d.next.beginUpdate(ctx, obj, old, options)
}

func (d *door) check(obj runtime.Object, goes bool) error {
	if d.gate == "" || goes {
		return nil
	}
	name := ""
	if accessor, err := meta.Accessor(obj); err == nil {
		name = accessor.GetName()
	}
	return apierrors.NewForbidden(d.resource, name, fmt.Errorf(
		"feature-gate %s is not enabled; enable it with --feature-gates", d.gate))
}
