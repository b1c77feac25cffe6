package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/reconcile"
)

// Deleter is the part of a typed client that deletes.
type Deleter interface {
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// DeleteExpired deletes an object whose TTL in seconds has passed since it finished. Before that, it returns the remaining time as
// RequeueAfter. A nil TTL keeps the object. An object with the same name but another UID is never deleted. NotFound and Conflict are
// no errors: the object is already deleted, or another one has its name.
func DeleteExpired(
	ctx context.Context, client Deleter, object metav1.Object, finished *metav1.Time, seconds *int32, now time.Time,
) (reconcile.Result, error) {
	if seconds == nil || finished == nil {
		return reconcile.Result{}, nil
	}
	if left := finished.Add(time.Duration(*seconds) * time.Second).Sub(now); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	klog.FromContext(ctx).V(2).Info("Deleting the object, because ttlSecondsAfterFinished has passed")
	err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(object.GetUID()))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return reconcile.Result{}, fmt.Errorf("delete %s after its TTL: %w", object.GetName(), err)
	}
	return reconcile.Result{}, nil
}
