package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/workload/engine"
)

// StatusWriter writes the statuses of the workloads of one kind, at a pace that depends on their number of Pods.
type StatusWriter[T Object, S any] struct {
	Resource schema.GroupResource
	// Client returns the client of a namespace.
	Client func(namespace string) StatusClient[T]
	// Of returns the status in an object.
	Of func(T) *S
	// Guard keeps the next pass from reading the status before this write.
	Guard engine.Guard
	// Pace limits the reports of large workloads, because each report is an event that triggers another pass.
	Pace *engine.Pace
	// Rewordings limits new messages of lasting failures, for kinds whose conditions have no time of their last update.
	Rewordings Rewordings
}

// Report writes the status of a workload with a number of Pods if it differs, or returns the delay until it may be written. An urgent
// status does not wait. The caller must requeue after the delay. The time is recorded before the write, so a write that fails is not
// repeated without a pause either.
func (w *StatusWriter[T, S]) Report(ctx context.Context, object T, status *S, pods int, urgent bool) (wait time.Duration, err error) {
	if apiequality.Semantic.DeepEqual(w.Of(object), status) {
		return 0, nil
	}
	if wait := w.Pace.ReportIn(object.GetUID(), pods, urgent); wait > 0 {
		return wait, nil
	}
	w.Pace.Reported(object.GetUID(), pods)
	return 0, w.Write(ctx, object, status)
}

// Write writes the status if it differs. After a conflict it writes the same status to the fresh object, because the status names the
// generation that it describes.
func (w *StatusWriter[T, S]) Write(ctx context.Context, object T, status *S) error {
	stored, err := UpdateStatus(ctx, w.Client(object.GetNamespace()), object, func(fresh T) error {
		*w.Of(fresh) = *status
		return nil
	})
	if err != nil {
		return err
	}
	var deleted T
	// Without a write, or if the object is deleted, there is no version that the cache has to show.
	if any(stored) != any(deleted) && stored.GetResourceVersion() != object.GetResourceVersion() {
		w.Guard.Wrote(object.GetUID(), w.Resource, stored.GetResourceVersion())
	}
	return nil
}

const (
	// RewordAfter is how long a condition keeps its first message. The message of a lasting failure differs at each attempt, for
	// example by a Pod name or a port number. Each write of the status triggers another reconcile at once. Without this limit,
	// retries of a lasting failure would never back off.
	RewordAfter = 30 * time.Second
	// maxMessage is the maximum length of a condition's message in bytes, because a thousand Pods can fail at once.
	maxMessage = 1024
)

// FailureMessage returns an error as a text that fits into a status. A cut inside of a multi-byte character would be invalid UTF-8,
// which protobuf refuses, so ToValidUTF8 drops the rest of that character.
func FailureMessage(err error) string {
	text := err.Error()
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + fmt.Sprintf(" … (%d bytes more)", len(text)-maxMessage)
}
