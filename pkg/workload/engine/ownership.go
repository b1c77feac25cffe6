package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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

// adopt makes the workload the controller of Pods that have none, after their claims. The adopted Pods are part of the next pass, so this
// one runs no stage that updates.
func (x *execution) adopt(ctx context.Context) error {
	orphans, owner := x.view.Orphans, x.view.Object
	if len(orphans) == 0 {
		return nil
	}
	if may, err := x.mayAct(ctx); err != nil || !may {
		return err
	}
	return x.Each(len(orphans), func(i int) error {
		for _, claim := range x.view.orphanClaims[orphans[i].UID] {
			if err := x.moveClaim(ctx, claimMove{claim: claim}); err != nil {
				return err
			}
		}
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

// maxNamed is how many Pods an event names.
const maxNamed = 10

// tellStrangers names the Pods that match the selector and are not adopted, each of them once.
func (x *execution) tellStrangers() {
	v := x.view
	if len(v.strangers) == 0 {
		v.memory.strangers = nil
		return
	}
	told := map[types.UID]bool{}
	var names []string
	for _, pod := range v.strangers {
		told[pod.UID] = true
		if !v.memory.strangers[pod.UID] {
			names = append(names, pod.Name)
		}
	}
	v.memory.strangers = told
	if len(names) == 0 || v.Strange == "" {
		return
	}
	slices.Sort(names)
	list := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	x.Recorder.Eventf(v.Object, corev1.EventTypeWarning, "NotAdopted",
		"These Pods match the selector and have no controller, but are not adopted, because %s: %s. "+
			"To keep them apart, change their labels. Otherwise, delete them", v.Strange, list)
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
