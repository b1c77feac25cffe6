package persistentpodstate

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/kinds"
)

// target is the workload of a PersistentPodState, as far as a pass needs it.
type target struct {
	// owner finds the Pods that the workload owns.
	owner metav1.Object
	// ordinals are those in range. all is true if they are not known, so that every ordinal counts as in range.
	ordinals map[int]bool
	all      bool
}

// workload returns a workload, or nil if it does not exist or is being deleted. Its records go then (cases 7 and 14 of
// docs/contract/persistentpodstate.md). A kind that cannot be read is an error.
func (r *Reconciler) workload(ctx context.Context, kind schema.GroupKind, namespace, name string) (kinds.Object, error) {
	// The caches have both kinds of StatefulSets.
	if r.sets[kind] != nil {
		return r.cached(kind, namespace, name)
	}
	object, err := r.workloads.Get(ctx, kind, namespace, name)
	if apierrors.IsNotFound(err) || err == nil && object.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return object, nil
}

// cached returns a workload of a kind whose Pods are numbered, or nil if it does not exist or is being deleted.
func (r *Reconciler) cached(kind schema.GroupKind, namespace, name string) (kinds.Object, error) {
	item, found, err := r.sets[kind].GetByKey(namespace + "/" + name)
	if err != nil {
		return nil, fmt.Errorf("read %s %s from its cache: %w", kind, name, err)
	}
	object, ok := item.(kinds.Object)
	if !found || !ok || object.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	return object, nil
}

// target returns a workload as a target, or nil for a nil workload. The number of Pods of a workload of a custom kind comes from the
// scale subresource. A scale that cannot be read is an error: without the number, the records of Pods that were scaled in could not be
// told from others.
func (r *Reconciler) target(ctx context.Context, kind schema.GroupKind, workload kinds.Object) (*target, error) {
	switch {
	case workload == nil:
		return nil, nil
	case r.sets[kind] != nil:
		return r.known(workload), nil
	}
	scale, err := r.workloads.Get(ctx, kind, workload.GetNamespace(), workload.GetName(), "scale")
	if err != nil {
		return nil, err
	}
	replicas, found, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil || !found {
		return nil, errors.Join(fmt.Errorf("the scale of %s %s has no spec.replicas", kind, workload.GetName()), err)
	}
	// Custom kinds have no reserved ordinals, and begin with 0.
	return &target{owner: workload, ordinals: inRange(int(replicas), 0, nil)}, nil
}

// podsOf returns the Pods of a target. A nil target has none.
func (r *Reconciler) podsOf(found *target) ([]*corev1.Pod, error) {
	if found == nil {
		return nil, nil
	}
	return controller.ByOwner[*corev1.Pod](r.pods, found.owner)
}
