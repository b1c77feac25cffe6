package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// disown removes the owner from Pods that the selector no longer matches. Their claims move to the Pods first: a claim that
// stays with the workload would be given to another Pod, or deleted, while the released Pod mounts it.
func (x *execution) disown(ctx context.Context) error {
	leaving, owner := x.view.Released, x.view.Object.GetUID()
	return x.Each(len(leaving), func(i int) error {
		pod := leaving[i]
		if err := x.giveClaims(ctx, pod, x.view.ClaimsOf(pod)); err != nil {
			return err
		}
		written, err := x.Server.DisownPod(ctx, pod, owner)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("disown Pod %s: %w", pod.Name, err)
		}
		x.Guard.Wrote(owner, PodResource.GroupResource(), written.ResourceVersion)
		return nil
	})
}

// mayAct reads the workload from the API server, because the cache may not show yet that the workload is being deleted. The
// user may have chosen to keep its Pods. It returns false if the workload is being deleted, has been deleted or has been replaced: it
// must not adopt anything then, and not delete claims.
func (x *execution) mayAct(ctx context.Context) (bool, error) {
	owner := x.view.Object
	fresh, err := x.view.Fresh(ctx)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s %s: %w", x.view.Kind.Kind, owner.GetName(), err)
	}
	return fresh.GetUID() == owner.GetUID() && fresh.GetDeletionTimestamp() == nil, nil
}

// adopt makes the workload the controller of Pods that have none. The adopted Pods are part of the next pass, so this one runs
// no stage that updates.
func (x *execution) adopt(ctx context.Context) error {
	orphans, owner := x.view.Orphans, x.view.Object
	if len(orphans) == 0 {
		return nil
	}
	if may, err := x.mayAct(ctx); err != nil || !may {
		return err
	}
	return x.Each(len(orphans), func(i int) error {
		written, err := x.Server.AdoptPod(ctx, orphans[i], x.view.OwnerRef())
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("adopt Pod %s: %w", orphans[i].Name, err)
		}
		x.changed.Store(true)
		x.Guard.Wrote(owner.GetUID(), PodResource.GroupResource(), written.ResourceVersion)
		return nil
	})
}

// adoptRevisions makes the workload the controller of revisions that have none. It returns whether there were any, even if they
// may not be adopted.
func (x *execution) adoptRevisions(ctx context.Context) (bool, error) {
	orphans, owner := x.view.unowned, x.view.Object
	if len(orphans) == 0 {
		return false, nil
	}
	if may, err := x.mayAct(ctx); err != nil || !may {
		return true, err
	}
	return true, x.Each(len(orphans), func(i int) error {
		written, err := x.Server.AdoptRevision(ctx, orphans[i], x.view.OwnerRef())
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("adopt revision %s: %w", orphans[i].Name, err)
		}
		x.changed.Store(true)
		x.Guard.Wrote(owner.GetUID(), RevisionResource.GroupResource(), written.ResourceVersion)
		return nil
	})
}
