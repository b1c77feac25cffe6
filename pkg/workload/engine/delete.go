package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/podstate"
)

// delete deletes Pods, and then their claims. A Pod becomes the owner of its claims first, so garbage collection deletes the claims
// with it even if this process ends between the writes. If a claim cannot be moved, its Pod is not deleted. The protection of claims
// in use keeps the volume until the Pod has ended. A refusal by a budget has no event.
func (x *execution) delete(ctx context.Context, deletions []Deletion) error {
	return x.Each(len(deletions), func(i int) error {
		pod := deletions[i].Pod
		var claims []*corev1.PersistentVolumeClaim
		if !deletions[i].KeepClaims {
			claims = x.view.ClaimsOf(pod)
			for _, claim := range claims {
				if err := x.moveClaim(ctx, claimMove{claim: claim, to: pod, from: x.view.Object.GetUID()}); err != nil {
					return err
				}
			}
			// An earlier pass may have moved the others.
			claims = slices.Concat(claims, x.view.claims.byPod[pod.UID])
		}
		err := x.Server.DeletePod(ctx, pod)
		if err != nil {
			err = x.deletedAfterAll(ctx, pod, err)
		}
		if err != nil {
			if !disruption.Refused(err) {
				x.tell(Result{Act: Delete, Pod: pod.Name, Err: err})
			}
			return fmt.Errorf("delete Pod %s: %w", pod.Name, err)
		}
		x.changed.Store(true)
		x.Guard.Deleted(x.view.Object.GetUID(), PodResource.GroupResource(), pod)
		x.tell(Result{Act: Delete, Pod: pod.Name})
		var failures []error
		for _, claim := range claims {
			// No pass reads this claim again, so the guard need not wait for its deletion.
			failures = append(failures, x.deleteClaim(ctx, claim))
		}
		return errors.Join(failures...)
	})
}

// moveClaims makes the moves, and joins their errors. Before it deletes claims, it asks the API server whether the workload still exists:
// if it is deleted and its Pods are kept, the garbage collector removes the owner of the Pods, and they look as if they were gone.
func (x *execution) moveClaims(ctx context.Context, moves []claimMove) error {
	if slices.ContainsFunc(moves, func(move claimMove) bool { return move.delete }) {
		if may, err := x.mayAct(ctx); err != nil || !may {
			return err
		}
	}
	return x.Each(len(moves), func(i int) error {
		if moves[i].delete {
			return x.purgeClaim(ctx, moves[i])
		}
		return x.moveClaim(ctx, moves[i])
	})
}

// purgeClaim deletes a claim whose Pod is gone. The View also lacks a Pod whose owner somebody removed. Such a Pod still uses the claim and
// gets it. A Pod that belongs to the workload keeps the claim until the cache shows the Pod.
func (x *execution) purgeClaim(ctx context.Context, move claimMove) error {
	pod, err := x.podOf(ctx, x.view.instanceOf(move.claim))
	switch {
	case err != nil:
		return err
	case pod == nil || !mounts(pod, move.claim.Name):
		if err := x.deleteClaim(ctx, move.claim); err != nil {
			return err
		}
		x.Guard.Deleted(x.view.Object.GetUID(), ClaimResource.GroupResource(), move.claim)
		return nil
	case metav1.IsControlledBy(pod, x.view.Object):
		return nil
	}
	move.to = pod
	return x.moveClaim(ctx, move)
}

// podOf reads the Pod of an instance from the API server. It returns nil if the Pod does not exist or has ended.
func (x *execution) podOf(ctx context.Context, id string) (*corev1.Pod, error) {
	name := podcontrol.PodName(x.view.Identity.Name, id)
	pod, err := x.Server.GetPod(ctx, x.view.Object.GetNamespace(), name)
	if apierrors.IsNotFound(err) || err == nil && !podstate.Active(pod) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Pod %s before its claims are deleted: %w", name, err)
	}
	return pod, nil
}

// giveClaims makes a Pod the owner of claims, and joins the errors.
func (x *execution) giveClaims(ctx context.Context, pod *corev1.Pod, claims []*corev1.PersistentVolumeClaim) error {
	failures := make([]error, 0, len(claims))
	for _, claim := range claims {
		failures = append(failures, x.moveClaim(ctx, claimMove{claim: claim, to: pod, from: x.view.Object.GetUID()}))
	}
	return errors.Join(failures...)
}

// moveClaim changes the owner of a claim. A claim that no longer exists is no error. A move does not count as a change of the pass,
// because the stages decide on Pods. The same is true of a deletion.
func (x *execution) moveClaim(ctx context.Context, move claimMove) error {
	claim, to := move.claim, x.view.OwnerRef()
	if move.to != nil {
		to = podRef(move.to)
	}
	written, err := x.Server.MoveClaim(ctx, claim, move.from, to)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		x.tell(Result{Act: Edit, Claim: claim.Name, Err: err})
		return fmt.Errorf("give claim %s to %s %s: %w", claim.Name, to.Kind, to.Name, err)
	}
	x.Guard.Wrote(x.view.Object.GetUID(), ClaimResource.GroupResource(), written.ResourceVersion)
	return nil
}

// deleteClaim deletes a claim. A claim that no longer exists is no error.
func (x *execution) deleteClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if err := x.Server.DeleteClaim(ctx, claim); err != nil && !apierrors.IsNotFound(err) {
		x.tell(Result{Act: Delete, Claim: claim.Name, Err: err})
		return fmt.Errorf("delete claim %s: %w", claim.Name, err)
	}
	return nil
}

// podRef returns a reference that makes the Pod the controller of a claim. It does not set blockOwnerDeletion, which needs
// another permission.
func podRef(pod *corev1.Pod) metav1.OwnerReference {
	ref := *metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))
	ref.BlockOwnerDeletion = nil
	return ref
}
