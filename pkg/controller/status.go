package controller

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusAttempts is how often a status is decided again at once after a conflict with another writer.
const statusAttempts = 10

// StatusClient is the part of a typed client that writes statuses.
type StatusClient[T Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	UpdateStatus(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
}

// UpdateStatus edits the status in a copy of the object, and writes it if it changed. The write succeeds only if the object is
// unchanged since edit saw it. After a conflict, edit runs again on the stored object. UpdateStatus returns the stored object,
// the error of edit, or the zero T without an error if the object was deleted.
func UpdateStatus[T Object](ctx context.Context, client StatusClient[T], object T, edit func(T) error) (stored T, err error) {
	var gone T
	for attempt := 1; ; attempt++ {
		edited, ok := object.DeepCopyObject().(T)
		if !ok {
			return gone, fmt.Errorf("deep copy of %T has another type", object)
		}
		if err := edit(edited); err != nil {
			return gone, err
		}
		if apiequality.Semantic.DeepEqual(object, edited) {
			return object, nil
		}
		stored, err := client.UpdateStatus(ctx, edited, metav1.UpdateOptions{})
		switch {
		case err == nil:
			return stored, nil
		case apierrors.IsNotFound(err):
			return gone, nil
		case !apierrors.IsConflict(err) || attempt == statusAttempts:
			return gone, fmt.Errorf("update status: %w", err)
		}
		fresh, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && fresh.GetUID() != object.GetUID():
			return gone, nil
		case err != nil:
			return gone, fmt.Errorf("get %s after a conflict: %w", object.GetName(), err)
		}
		object = fresh
	}
}
