package controller

import (
	"context"
	"errors"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusAttempts is how often a status is decided again at once after a conflict with another writer. The first conflict can come
// from a stale cache. Each later one needs another write within milliseconds, so after ten the pass fails and the queue retries
// later.
const statusAttempts = 10

// StatusClient is the part of a typed client that writes statuses. The clients of all kinds have these methods, so UpdateStatus needs
// no code for each kind.
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
		// A status that edit did not change costs no request.
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
		// The cache is likely to be as old as the object that caused the conflict, so the fresh object comes from the server.
		fresh, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
		switch {
		// An object with another UID was created after this one was deleted. Its status is the business of its own pass.
		case apierrors.IsNotFound(err) || err == nil && fresh.GetUID() != object.GetUID():
			return gone, nil
		case err != nil:
			return gone, fmt.Errorf("get %s after a conflict: %w", object.GetName(), err)
		}
		object = fresh
	}
}

// ReplaceStatus is UpdateStatus for a status that one pass computes as a whole. set stores it in the object. An object whose spec has
// changed since the pass read it keeps its status, and ReplaceStatus returns an error: a job that has ended ignores later changes, so it
// must not end by an old spec.
func ReplaceStatus[T Object](ctx context.Context, client StatusClient[T], object T, set func(T)) error {
	_, err := UpdateStatus(ctx, client, object, func(fresh T) error {
		if fresh.GetGeneration() != object.GetGeneration() {
			return errors.New("the spec has changed since it was read")
		}
		set(fresh)
		return nil
	})
	return err
}
