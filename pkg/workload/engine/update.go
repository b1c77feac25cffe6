package engine

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/inplace"
)

// updateAttempts is how often an update is retried after a conflict with another writer of the Pod. The kubelet writes statuses
// all the time, so conflicts are common.
const updateAttempts = 5

// errGone ends the update of a Pod that was deleted meanwhile. It is no failure.
var errGone = errors.New("pod is gone")

// writeAll writes changes to Pods. A change that conflicts with another writer is decided again when the caches show that write.
func (x *execution) writeAll(ctx context.Context, changes []Change) error {
	return x.Each(len(changes), func(i int) error { return x.writeOne(ctx, &changes[i]) })
}

// reserve reserves the Pod's share of its budget, if the kind asks budgets.
func (x *execution) reserve(ctx context.Context, pod *corev1.Pod) error {
	if x.Budget == nil {
		return nil
	}
	return x.Budget.Reserve(ctx, x.view.Object, x.view.Kind.GroupKind(), pod)
}

// writeOne writes one change. A failure that turns out to be none does not count.
func (x *execution) writeOne(ctx context.Context, change *Change) error {
	if change.Disrupts {
		if err := x.reserve(ctx, change.Before); err != nil {
			return err
		}
	}
	_, err := x.patch(ctx, change)
	if err != nil {
		err = x.patchedAfterAll(ctx, change, err)
	}
	if err == nil {
		x.changed.Store(true)
	}
	if change.Tell {
		x.tell(Result{Act: Edit, Pod: change.Before.Name, Err: err})
	}
	return err
}

// patch sends a change and records it in the guard.
func (x *execution) patch(ctx context.Context, change *Change) (*corev1.Pod, error) {
	pod, err := x.Server.PatchPod(ctx, change, false)
	if err != nil {
		return nil, fmt.Errorf("patch Pod %s: %w", change.Before.Name, err)
	}
	x.Guard.Wrote(x.view.Object.GetUID(), PodResource.GroupResource(), pod.ResourceVersion)
	return pod, nil
}

// update brings Pods to their revision, in place or by marking them for deletion. A plan contains each Pod once.
func (x *execution) update(ctx context.Context, updates []PodUpdate) error {
	return x.Each(len(updates), func(i int) error {
		if updates[i].Change == nil {
			return x.recreate(ctx, &updates[i])
		}
		return x.updateInPlace(ctx, &updates[i])
	})
}

// recreate marks a Pod for deletion. The budget is not asked here: the deletion itself asks it.
func (x *execution) recreate(ctx context.Context, update *PodUpdate) error {
	pod := update.Pod
	if err := x.writeOne(ctx, markForDeletion(pod, picked)); err != nil {
		x.tell(Result{Act: MarkForDeletion, Pod: pod.Name, Revision: update.Target.Name, Err: err})
		return err
	}
	x.tell(Result{Act: MarkForDeletion, Pod: pod.Name, Revision: update.Target.Name})
	return nil
}

// updateInPlace updates one Pod in place, and reports the result as an event. A budget that refuses is no failure, so it has
// none here: the budget itself reports it.
func (x *execution) updateInPlace(ctx context.Context, update *PodUpdate) error {
	pod := update.Pod
	err := x.takeAndUpdate(ctx, update)
	switch {
	case errors.Is(err, errGone):
		// A Pod that is gone changes the counts of the plan, so no further stage runs.
		x.changed.Store(true)
		return nil
	case disruption.Refused(err):
		klog.FromContext(ctx).V(2).Info("Pod waits for its budget", "pod", klog.KObj(pod), "reason", err.Error())
		return err
	case err != nil:
		x.tell(Result{Act: UpdateInPlace, Pod: pod.Name, Revision: update.Target.Name, Err: err})
		return err
	}
	x.changed.Store(true)
	x.tell(Result{Act: UpdateInPlace, Pod: pod.Name, Revision: update.Target.Name})
	return nil
}

// takeAndUpdate takes the Pod out of service, if a container must restart, and then changes the Pod. The last write replaces
// exactly the version that the previous write returned, so it records the container instances that it ends. The order is:
// reserve the budget, try a dry run, take the Pod out of service, write. A failure after the reservation leaves a grant, which
// expires. A failure after the Pod was taken out of service leaves a Pod that settling releases in a later pass, because its
// update has not begun.
func (x *execution) takeAndUpdate(ctx context.Context, update *PodUpdate) error {
	base, interrupts := update.Pod, update.Change.Interrupts(update.Pod)
	if interrupts {
		if err := x.reserve(ctx, base); err != nil {
			return err
		}
	}
	reserved := x.Clock.Now()
	if err := x.tryUpdate(ctx, update); err != nil {
		return gone(err)
	}
	// A grant that expires before the Pod is out of service allows the disruption of another Pod, too. So slow requests renew it.
	if interrupts && x.Clock.Since(reserved) > disruption.UpdateExpiry/2 {
		if err := x.reserve(ctx, base); err != nil {
			return err
		}
	}
	if interrupts && !x.view.delays(update) {
		held := base.DeepCopy()
		inplace.Hold(held, x.view.Now)
		var err error
		if base, err = x.patch(ctx, &Change{Before: update.Pod, After: held, Part: Status}); err != nil {
			return gone(x.lookUp(ctx, update.Pod, err))
		}
	}
	return x.writeOverFresh(ctx, base, update)
}

// writeOverFresh writes the update. After a conflict it reads the newest version of the Pod and retries. It returns errGone if
// the Pod was deleted or replaced, and the conflict if all attempts met one.
func (x *execution) writeOverFresh(ctx context.Context, base *corev1.Pod, update *PodUpdate) (err error) {
	for range updateAttempts {
		if err = x.writeUpdate(ctx, &base, update); !apierrors.IsConflict(err) {
			return gone(x.lookUp(ctx, base, err))
		}
		fresh, getErr := x.Server.GetPod(ctx, base.Namespace, base.Name)
		if getErr != nil {
			return gone(fmt.Errorf("get Pod %s: %w", base.Name, getErr))
		}
		if fresh.UID != update.Pod.UID || fresh.DeletionTimestamp != nil {
			return errGone
		}
		// The change was planned instead of one that waits. If another change waits by now, the next pass plans again.
		if !inplace.SameWaiting(update.Pod, fresh) {
			return err
		}
		base = fresh
	}
	return err
}

// gone turns the answer that a Pod does not exist into errGone.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return errGone
	}
	return err
}

// writeUpdate writes the update only if the Pod is still at the version of base. A change that waits for its grace period is
// only metadata, so it goes into the write that takes the Pod out of service. A change of resources is written before the rest.
func (x *execution) writeUpdate(ctx context.Context, base **corev1.Pod, update *PodUpdate) error {
	after, err := x.view.applied(*base, update, x.Clock.Now())
	if err != nil {
		return err
	}
	if inplace.Delayed(after) {
		inplace.Hold(after, x.view.Now)
		_, err := x.patch(ctx, &Change{Before: *base, After: after, Part: Status, Exact: true})
		return err
	}
	// The second write must record the instances again, on the version that the first one returned.
	if resized, rest := inplace.Split(*base, after); resized != nil {
		// If the rest is refused later, nothing would take the new resources back.
		if len(update.Change.Images)+len(update.Change.Env) > 0 {
			if err := x.dryRun(ctx, &Change{Before: *base, After: rest}); err != nil {
				return err
			}
		}
		written, err := x.patch(ctx, &Change{Before: *base, After: resized, Part: Resize})
		if err != nil {
			return err
		}
		*base = written
		if after, err = x.view.applied(written, update, x.Clock.Now()); err != nil {
			return err
		}
	}
	_, err = x.patch(ctx, &Change{Before: *base, After: after, Exact: true})
	return err
}

// tryUpdate sends the change as a dry run, if updates failed in an earlier pass. A Pod whose change is rejected must not go out
// of service at each attempt. Taking it out of service would also trigger the next attempt at once. Both requests of an update
// with resources are tried, because each can be refused by itself.
func (x *execution) tryUpdate(ctx context.Context, update *PodUpdate) error {
	if !x.view.UpdateFailed || !update.Change.Interrupts(update.Pod) {
		return nil
	}
	after, err := x.view.completeUpdate(update)
	if err != nil {
		return err
	}
	resized, rest := inplace.Split(update.Pod, after)
	if resized != nil {
		if err := x.dryRun(ctx, &Change{Before: update.Pod, After: resized, Part: Resize}); err != nil {
			return err
		}
	}
	return x.dryRun(ctx, &Change{Before: update.Pod, After: rest})
}

func (x *execution) dryRun(ctx context.Context, change *Change) error {
	if _, err := x.Server.PatchPod(ctx, change, true); err != nil {
		return fmt.Errorf("patch Pod %s: %w", change.Before.Name, err)
	}
	return nil
}
