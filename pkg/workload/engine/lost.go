package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/podstate"
)

// Lost reports whether a failed write may have succeeded: its answer did not arrive, or it is a server error. An error that is
// no answer of the API counts as lost.
func Lost(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	return err != nil
}

// createdAfterAll looks for the Pod of a failed creation. If the workload's Pod is not found, it returns the failure. If not
// even the read succeeds, or the Pod does not exist yet, the creation may still arrive: the ID is kept, and the next creation
// uses the same name.
func (x *execution) createdAfterAll(ctx context.Context, pod *corev1.Pod, id string, failure error) (*corev1.Pod, error) {
	if !Lost(failure) && !apierrors.IsAlreadyExists(failure) {
		return nil, failure
	}
	// A name that exists already may be that of a creation whose answer was lost in an earlier pass. A Pod that this pass knows is not the
	// one that it lacks: counting it as created would repeat the same creation in each pass, and end everything else.
	found, err := x.find(ctx, pod)
	known := func(p *corev1.Pod) bool { return p.UID == found.UID }
	if err == nil && metav1.IsControlledBy(found, x.view.Object) && podstate.Active(found) && !slices.ContainsFunc(x.view.Pods, known) {
		return found, nil
	}
	if err == nil && metav1.GetControllerOfNoCopy(found) == nil && podstate.Active(found) {
		// This Pod had the name first and may use the claims. The workload then creates another instance.
		claims := slices.DeleteFunc(slices.Clone(x.view.claims.of(id)),
			func(claim *corev1.PersistentVolumeClaim) bool { return !mounts(found, claim.Name) })
		return nil, errors.Join(failure, x.giveClaims(ctx, found, claims))
	}
	if err != nil && Lost(failure) {
		x.lock.Lock()
		defer x.lock.Unlock()
		x.attempted[id] = x.Clock.Now()
	}
	if err == nil {
		if owner := metav1.GetControllerOfNoCopy(found); owner != nil && owner.UID != x.view.Object.GetUID() {
			return nil, &TakenError{Owner: *owner, failure: failure}
		}
	}
	return nil, failure
}

// TakenError says that another workload has a Pod of the name.
type TakenError struct {
	Owner   metav1.OwnerReference
	failure error
}

// Error implements error.
func (e *TakenError) Error() string {
	return fmt.Sprintf("%v, and %s %s of %s controls it; delete the Pod, or, to take it over, delete that %s with --cascade=orphan",
		e.failure, e.Owner.Kind, e.Owner.Name, e.Owner.APIVersion, e.Owner.Kind)
}

// Unwrap returns the answer of the API server.
func (e *TakenError) Unwrap() error { return e.failure }

// deletedAfterAll looks for the Pod of a failed deletion, and returns the failure if the Pod still exists.
func (x *execution) deletedAfterAll(ctx context.Context, pod *corev1.Pod, failure error) error {
	if apierrors.IsNotFound(failure) {
		return nil
	}
	if !Lost(failure) {
		return failure
	}
	found, err := x.find(ctx, pod)
	if apierrors.IsNotFound(err) || err == nil && (found.UID != pod.UID || found.DeletionTimestamp != nil) {
		return nil
	}
	return failure
}

// patchedAfterAll looks for the Pod of a failed patch, and returns the failure if the Pod is unchanged. If the Pod changed, it
// does not matter who changed it: the next pass decides on the Pod as it is then. A Pod that is gone, and a conflict of an
// exact change, are no failures either.
func (x *execution) patchedAfterAll(ctx context.Context, change *Change, failure error) error {
	if apierrors.IsNotFound(failure) || apierrors.IsConflict(failure) && change.Exact {
		return nil
	}
	if !Lost(failure) {
		return failure
	}
	found, err := x.find(ctx, change.Before)
	if apierrors.IsNotFound(err) || err == nil && found.ResourceVersion != change.Before.ResourceVersion {
		return nil
	}
	return failure
}

// lookUp makes sure that the next pass sees the outcome of a failed write to the Pod. It returns the failure.
func (x *execution) lookUp(ctx context.Context, pod *corev1.Pod, failure error) error {
	if Lost(failure) {
		_, _ = x.find(ctx, pod)
	}
	return failure
}

// find reads a Pod from the API server after the answer to a write was lost. The next pass waits until the caches show what was
// read. If the read fails too, this pass makes no further creations, deletions or updates, and the next pass reads again.
func (x *execution) find(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	found, err := x.Server.GetPod(ctx, pod.Namespace, pod.Name)
	switch {
	case err == nil:
		x.Guard.Wrote(x.view.Object.GetUID(), PodResource.GroupResource(), found.ResourceVersion)
	case !apierrors.IsNotFound(err):
		x.unknown.Store(true)
		x.lock.Lock()
		defer x.lock.Unlock()
		x.unresolved = append(x.unresolved, pod.Name)
	}
	return found, err
}

// resolve reads again the Pods that the last pass failed to read after a lost answer. If the caches lag behind the answer, the
// pass only settles.
func (x *execution) resolve(ctx context.Context) error {
	v := x.view
	var failures []error
	for _, name := range v.memory.unresolved {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.Object.GetNamespace(), Name: name}}
		cached := slices.IndexFunc(v.Pods, func(p *corev1.Pod) bool { return p.Name == name })
		found, err := x.find(ctx, pod)
		missing := apierrors.IsNotFound(err)
		if missing && cached >= 0 {
			// The lost write was a deletion. The next pass must not count the Pod.
			x.Guard.Deleted(v.Object.GetUID(), PodResource.GroupResource(), v.Pods[cached])
		}
		switch {
		case err != nil && !missing:
			failures = append(failures, fmt.Errorf("check the result of a write to Pod %s: %w", name, err))
		// The cache shows another state than the server, so this pass must not create, delete or update.
		case missing && cached >= 0, err == nil && cached < 0 && podstate.Active(found),
			err == nil && cached >= 0 && found.ResourceVersion != v.Pods[cached].ResourceVersion:
			x.unknown.Store(true)
			x.MarkUnfinished() // The event of the Pod may be one that starts no pass.
		}
	}
	return errors.Join(failures...)
}

// claimAfterAll looks for the claim of a failed creation. An existing claim counts as created if its controller is the one that
// the new claim was to have.
func (x *execution) claimAfterAll(
	ctx context.Context, claim *corev1.PersistentVolumeClaim, failure error,
) (*corev1.PersistentVolumeClaim, error) {
	if !Lost(failure) && !apierrors.IsAlreadyExists(failure) {
		return nil, failure
	}
	found, err := x.Server.GetClaim(ctx, claim.Namespace, claim.Name)
	free := metav1.GetControllerOfNoCopy(claim) == nil
	if err == nil && (free || metav1.IsControlledBy(found, x.view.Object)) && found.DeletionTimestamp == nil {
		return found, nil
	}
	return nil, failure
}
