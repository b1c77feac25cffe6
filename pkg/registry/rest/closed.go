package rest

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic/registry"
)

// gateCheck refuses, with 403, to create or change objects of a kind whose feature gate is off, because no controller
// would act on them. Stored objects can still be read and deleted, and their status can be updated. Finalizers can be
// removed from a terminating object, and owner references from every object.
type gateCheck struct {
	resource schema.GroupResource
	// gate is the name of the disabled feature gate, or empty.
	gate string
	next *earlySizeCheck
}

func (g *gateCheck) beginCreate(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (registry.FinishFunc, error) {
	if err := g.check(obj, false); err != nil {
		return nil, err
	}
	return g.next.beginCreate(ctx, obj, options)
}

// beginUpdate also passes the removal of finalizers and of owner references. The object, or the owner that leaves it behind, would
// otherwise stay, and with it its namespace, until somebody enables the feature gate.
func (g *gateCheck) beginUpdate(ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (registry.FinishFunc, error) {
	stored, err := meta.Accessor(old)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of a stored object: %w", err)
	}
	if err := g.check(obj, stored.GetDeletionTimestamp() != nil || g.gate != "" && onlyReleases(obj, old)); err != nil {
		return nil, err
	}
	return g.next.beginUpdate(ctx, obj, old, options)
}

// check returns a 403 error that names the gate, unless all gates are on or the change is one that passes.
func (g *gateCheck) check(obj runtime.Object, passes bool) error {
	if g.gate == "" || passes {
		return nil
	}
	name := ""
	if accessor, err := meta.Accessor(obj); err == nil {
		name = accessor.GetName()
	}
	return apierrors.NewForbidden(g.resource, name, fmt.Errorf(
		"feature-gate %s is not enabled; enable it with --feature-gates", g.gate))
}

// onlyReleases reports whether an update changes nothing but owner references, and adds none. The garbage collector makes such updates: it
// removes a reference if the owner is deleted without its dependents, and sets blockOwnerDeletion to false if owners wait for each other.
func onlyReleases(obj, old runtime.Object) bool {
	updated, err := meta.Accessor(obj)
	if err != nil {
		return false
	}
	kept := old.DeepCopyObject()
	stored, err := meta.Accessor(kept)
	if err != nil {
		return false
	}
	if apiequality.Semantic.DeepEqual(stored.GetOwnerReferences(), updated.GetOwnerReferences()) {
		return false
	}
	before := map[metav1.OwnerReference]bool{}
	for _, owner := range stored.GetOwnerReferences() {
		owner.BlockOwnerDeletion, owner.Controller = nil, nil
		before[owner] = true
	}
	for _, owner := range updated.GetOwnerReferences() {
		owner.BlockOwnerDeletion, owner.Controller = nil, nil
		if !before[owner] {
			return false
		}
	}
	stored.SetOwnerReferences(updated.GetOwnerReferences())
	stored.SetManagedFields(updated.GetManagedFields())
	stored.SetResourceVersion(updated.GetResourceVersion())
	return apiequality.Semantic.DeepEqual(obj, kept)
}
