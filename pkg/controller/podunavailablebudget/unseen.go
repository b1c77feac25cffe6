package podunavailablebudget

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workloadclient"
)

// ask reads a workload of an uncached kind from the API server. A kind of the table that is not watched, for example a Job, is
// read with its typed client. All other kinds are read by their scale subresource. A workload that the controllers may not read is
// no error, because it would block every disruption in the scope of the budget: every existing Pod then counts as wanted.
func (w *workloads) ask(ctx context.Context, namespace string, workload disruption.Workload) (*size, error) {
	kind := kinds.Of(workload.GroupKind)
	if kind == nil || !kind.HasPods() {
		return w.askForScale(ctx, namespace, workload)
	}
	object, err := w.clients.Get(ctx, workload.GroupKind, namespace, workload.Name)
	if apierrors.IsForbidden(err) {
		return &size{uncounted: true, unreadable: kind.Resource.GroupResource()}, nil
	}
	if err != nil {
		return nil, err
	}
	return sizeOf(object, replicasOf(object)), nil
}

// sizeOf returns the size of a workload, or nil if it is being deleted. If replicas is nil, every existing Pod counts as
// wanted. A workload that is being deleted wants no Pods, and its Pods may go.
func sizeOf(object metav1.Object, replicas *int32) *size {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	return &size{uid: object.GetUID(), replicas: ptr.Deref(replicas, 0), uncounted: replicas == nil}
}

// askForScale reads the scale subresource of a workload of any kind. If it does not exist or may not be read, the number is that of
// a kind that the administrator lists, else every existing Pod counts as wanted.
func (w *workloads) askForScale(ctx context.Context, namespace string, workload disruption.Workload) (*size, error) {
	// The object itself tells whether it is being deleted, and its UID finds the Pods that it owns.
	object, err := w.custom.Get(ctx, workload.GroupKind, namespace, workload.Name)
	if forbidden, is := errors.AsType[*workloadclient.ForbiddenError](err); is {
		return &size{uncounted: true, unreadable: forbidden.Resource}, nil
	}
	if err != nil {
		return nil, err
	}
	found := sizeOf(object, nil)
	if found == nil {
		return nil, nil
	}
	scale, err := w.custom.Get(ctx, workload.GroupKind, namespace, workload.Name, "scale")
	if forbidden, is := errors.AsType[*workloadclient.ForbiddenError](err); is {
		found.unreadable = forbidden.Resource
	}
	switch {
	// The object exists, so its kind has no scale subresource.
	case apierrors.IsNotFound(err), !found.unreadable.Empty():
		return found, w.countListed(ctx, workload.GroupKind, object, found)
	case err != nil:
		return nil, err
	}
	// A scale without the field has zero replicas.
	replicas, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil {
		return nil, err
	}
	found.replicas, found.uncounted = int32(replicas), false
	found.selector, _, err = unstructured.NestedString(scale.Object, "status", "selector")
	return found, err
}

// countListed counts a workload without a readable scale by its field spec.replicas, if the administrator lists its kind for
// PersistentPodStates. A list that cannot be parsed lists nothing: it must not block disruptions.
func (w *workloads) countListed(ctx context.Context, kind schema.GroupKind, object *unstructured.Unstructured, found *size) error {
	listed, err := w.listed.Now(ctx)
	if err != nil || !listed.Has(kind) {
		return err
	}
	if replicas, has, err := unstructured.NestedInt64(object.Object, "spec", "replicas"); has && err == nil {
		found.replicas, found.uncounted, found.unreadable = int32(replicas), false, schema.GroupResource{}
	}
	return nil
}
