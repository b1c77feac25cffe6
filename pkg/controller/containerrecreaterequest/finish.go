package containerrecreaterequest

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
)

// finish cleans up after a request that has ended or is being deleted: one step at a time, each of which is an event that
// brings the next.
func (r *Reconciler) finish(ctx context.Context, request *v1beta1.ContainerRecreateRequest) (controller.Result, error) {
	if err := r.release(ctx, request); err != nil || request.DeletionTimestamp != nil {
		return controller.Result{}, err
	}
	if _, active := request.Labels[pub.ContainerRecreateRequestActiveKey]; active {
		return controller.Result{}, r.deactivate(ctx, request)
	}
	ttl := request.Spec.TTLSecondsAfterFinished
	if ttl == nil {
		return controller.Result{}, nil
	}
	if left := time.Duration(*ttl)*time.Second - r.clock.Since(request.Status.CompletionTime.Time); left > 0 {
		return controller.Result{RequeueAfter: left}, nil
	}
	klog.FromContext(ctx).V(2).Info("Deleting the request, its time is over")
	err := r.kruise.AppsV1beta1().ContainerRecreateRequests(request.Namespace).Delete(ctx, request.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(request.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return controller.Result{}, fmt.Errorf("delete: %w", err)
	}
	return controller.Result{}, nil
}

// deactivate takes the request out of what its agent watches.
func (r *Reconciler) deactivate(ctx context.Context, request *v1beta1.ContainerRecreateRequest) error {
	_, err := r.patch(ctx, request, map[string]any{
		"uid": request.UID, "labels": map[string]any{pub.ContainerRecreateRequestActiveKey: nil},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove label: %w", err)
	}
	return nil
}
