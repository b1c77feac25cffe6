package containerrecreaterequest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
)

// finish cleans up after a request that has ended or is being deleted. It does one step per call; the event of each step triggers the
// next. The Pod comes first: it must return to service even if the other steps fail.
func (r *Reconciler) finish(ctx context.Context, request *v1beta1.ContainerRecreateRequest) (reconcile.Result, error) {
	if err := r.release(ctx, request); err != nil || request.DeletionTimestamp != nil {
		return reconcile.Result{}, err
	}
	if _, active := request.Labels[pub.ContainerRecreateRequestActiveKey]; active {
		return reconcile.Result{}, r.deactivate(ctx, request)
	}
	return controller.DeleteExpired(ctx, r.kruise.AppsV1beta1().ContainerRecreateRequests(request.Namespace), request,
		request.Status.CompletionTime, request.Spec.TTLSecondsAfterFinished, r.clock.Now())
}

// deactivate removes the label by which the agent watches the request. For the agent, the request is then deleted, so it keeps only
// requests that it has to work on.
func (r *Reconciler) deactivate(ctx context.Context, request *v1beta1.ContainerRecreateRequest) error {
	// In a merge patch, null removes the label.
	_, err := r.patch(ctx, request, map[string]any{
		"uid": request.UID, "labels": map[string]any{pub.ContainerRecreateRequestActiveKey: nil},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove label: %w", err)
	}
	return nil
}
