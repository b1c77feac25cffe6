package podunavailablebudget

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/kinds"
)

// ask reads a workload of an uncached kind from the API server. A kind of the table that is not watched, for example a Job, is
// read with its typed client. All other kinds are read by their scale subresource. The error says whether the kind or the
// permission is missing.
func (w *workloads) ask(ctx context.Context, namespace, version string, workload disruption.Workload) (*size, error) {
	if kind := kinds.Of(workload.GroupKind); kind == nil || !kind.HasPods() {
		return w.askForScale(ctx, namespace, version, workload)
	}
	object, err := w.clients.Get(ctx, workload.GroupKind, namespace, workload.Name)
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

// askForScale reads the scale subresource of a workload of any kind. If it does not exist, every existing Pod counts as wanted.
// version is from the reference of the user or of a Pod; if it is empty, the mapper takes the preferred one.
func (w *workloads) askForScale(ctx context.Context, namespace, version string, workload disruption.Workload) (*size, error) {
	mapping, err := w.mapper.RESTMapping(workload.GroupKind, version)
	if err != nil {
		return nil, err
	}
	client := w.dynamic.Resource(mapping.Resource).Namespace(namespace)
	// The object itself tells whether it is being deleted, and its UID finds the Pods that it owns.
	object, err := client.Get(ctx, workload.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	found := sizeOf(object, new(int32(0)))
	if found == nil {
		return nil, nil
	}
	scale, err := client.Get(ctx, workload.Name, metav1.GetOptions{}, "scale")
	// The object exists, but its kind has no scale subresource.
	if apierrors.IsNotFound(err) {
		found.uncounted = true
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	// A scale without the field has zero replicas.
	replicas, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil {
		return nil, err
	}
	found.replicas = int32(replicas)
	found.selector, _, err = unstructured.NestedString(scale.Object, "status", "selector")
	return found, err
}
