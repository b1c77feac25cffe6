package engine

import (
	"context"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/podstate"
)

// lost tells whether a write that failed may have been carried out: its answer did not arrive, or tells of trouble in a server.
func lost(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	return err != nil
}

// createdAfterAll looks for the Pod of a creation that failed. It returns the failure when there is none: then nothing was created.
func (x *execution) createdAfterAll(ctx context.Context, pod *corev1.Pod, id string, failure error) (*corev1.Pod, error) {
	if !lost(failure) && !apierrors.IsAlreadyExists(failure) {
		return nil, failure
	}
	found, err := x.Server.GetPod(ctx, pod.Namespace, pod.Name)
	switch {
	case err == nil && metav1.IsControlledBy(found, x.view.Object) && podstate.Active(found):
		return found, nil
	case err == nil:
		return nil, failure
	case !apierrors.IsNotFound(err):
		x.unknown.Store(true)
	}
	if lost(failure) {
		x.lock.Lock()
		defer x.lock.Unlock()
		x.attempted = append(x.attempted, id)
	}
	return nil, failure
}

// deletedAfterAll looks for the Pod of a deletion that failed, and returns the failure when it is still there.
func (x *execution) deletedAfterAll(ctx context.Context, pod *corev1.Pod, failure error) error {
	if apierrors.IsNotFound(failure) {
		return nil
	}
	if !lost(failure) {
		return failure
	}
	found, err := x.Server.GetPod(ctx, pod.Namespace, pod.Name)
	switch {
	case apierrors.IsNotFound(err), err == nil && (found.UID != pod.UID || found.DeletionTimestamp != nil):
		return nil
	case err != nil:
		x.unknown.Store(true)
	}
	return failure
}

// patchedAfterAll looks for the Pod of a patch that failed, and returns the failure when the Pod is as it was. Whoever changed a
// Pod that is not, the next pass decides on what it is then.
func (x *execution) patchedAfterAll(ctx context.Context, change *Change, failure error) error {
	if apierrors.IsNotFound(failure) || apierrors.IsConflict(failure) && change.Exact {
		return nil
	}
	if !lost(failure) {
		return failure
	}
	found, err := x.Server.GetPod(ctx, change.Before.Namespace, change.Before.Name)
	switch {
	case apierrors.IsNotFound(err), err == nil && found.ResourceVersion != change.Before.ResourceVersion:
		return nil
	case err != nil:
		x.unknown.Store(true)
	}
	return failure
}

// claimAfterAll looks for the claim of a creation that failed. One that is there and ours serves as well.
func (x *execution) claimAfterAll(ctx context.Context, claim *corev1.PersistentVolumeClaim, failure error) (*corev1.PersistentVolumeClaim, error) {
	if !lost(failure) && !apierrors.IsAlreadyExists(failure) {
		return nil, failure
	}
	found, err := x.Server.GetClaim(ctx, claim.Namespace, claim.Name)
	switch {
	case err == nil && metav1.IsControlledBy(found, x.view.Object) && found.DeletionTimestamp == nil:
		return found, nil
	case err != nil && !apierrors.IsNotFound(err):
		x.unknown.Store(true)
	}
	return nil, failure
}
