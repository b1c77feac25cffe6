package workloadspread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/passes"
	"kruise.io/kruise/pkg/workload/spread"
	"kruise.io/kruise/pkg/workloadclient"
)

const (
	// The reasons of events.
	reasonPatchFailed    = "PatchPodDeletionCostFailed"
	reasonCreationLate   = "CreatePodFailed"
	reasonDeletionFailed = "DeletePodFailed"
	reasonRecovered      = "RecoverSchedulable"
	reasonFull           = "SubsetsFull"
)

// conflictDelay is the time until the deletion of a Pod that has changed is tried again. The cache shows the change by then.
const conflictDelay = time.Second

// Reconcile assigns the Pods of the target, then recounts the slots, and then deletes Pods that must move to the next subset.
// The status is written last, and its generation only if all Pods were written. If a Pod cannot be written, slots are still
// recounted, because other Pods need them. A deletion comes after the status: the condition of the subset must be stored first,
// or the replacement of the Pod would be sent to the same subset.
func (r *Reconciler) Reconcile(ctx context.Context, object *v1beta1.WorkloadSpread) (reconcile.Result, error) {
	if object.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	listed := r.clock.Now()
	t, pods, err := r.read(ctx, object)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case t == nil:
		return reconcile.Result{RequeueAfter: controller.UnwatchedPeriod}, nil
	}
	changed, unassigned := r.assign(ctx, object, t, pods, listed)
	written, failed := r.write(ctx, object, pods, changed)
	// After slow writes, the Pods are listed again: one that had no node can run meanwhile.
	if r.clock.Since(listed) > time.Second {
		pods = nil
	}
	counted, moved, err := r.recount(ctx, object, t, listed, written, failed == nil, pods)
	if err != nil {
		return reconcile.Result{}, errors.Join(failed, err)
	}
	r.report(object, counted, moved)
	r.reportFull(object, t.replicas)
	again, err := r.delete(ctx, object, moved.Delete)
	// The next pass is due when the first of these times is over: a slot expires, a Pod waits for too long, the target is read again, the
	// node of a Pod is looked up again, or a deletion is tried again.
	result := reconcile.Result{RequeueAfter: counted.Wait}
	for _, wait := range []time.Duration{moved.Wait, t.again, unassigned, again} {
		result.RequeueAfter = delay.Sooner(result.RequeueAfter, wait)
	}
	return result, errors.Join(failed, err)
}

// read returns the target of a WorkloadSpread and its Pods. It returns nil without an error if only a user can change that they cannot be
// read: the controllers may not read the target or an owner between it and its Pods, the kind is not served, or the administrator's list
// has a mistake. An event says so, and the status stays as it is.
func (r *Reconciler) read(ctx context.Context, object *v1beta1.WorkloadSpread) (t *target, pods []*corev1.Pod, err error) {
	key := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	if t, err = r.target(ctx, object); err == nil {
		pods, err = t.pods()
	}
	if forbidden, is := errors.AsType[*workloadclient.ForbiddenError](err); is {
		r.unreadable.Tell(key, object, forbidden.Unread(), "its Pods are not assigned to subsets, and the status is not updated")
		return nil, nil, nil
	}
	if _, mistake := errors.AsType[*workloadclient.ListError](err); mistake || meta.IsNoMatchError(err) {
		r.recorder.Eventf(object, corev1.EventTypeWarning, controller.ReasonUnreadable,
			"The target cannot be read, so its Pods are not assigned to subsets, and the status is not updated: %v", err)
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	r.unreadable.Tell(key, object, t.forbidden.Unread(), "its replicas count as 0")
	return t, pods, nil
}

// write patches the metadata of the Pods that change, and returns them as stored, by UID. It tries all Pods: an error for one
// of them does not stop the others. The guard waits for each write before the next pass.
func (r *Reconciler) write(
	ctx context.Context, object *v1beta1.WorkloadSpread, pods []*corev1.Pod, changed map[string]*corev1.Pod,
) (map[types.UID]*corev1.Pod, error) {
	var due []*corev1.Pod
	for _, pod := range pods {
		if changed[pod.Name] != nil {
			due = append(due, pod)
		}
	}
	// Each write has its own element, so no lock is needed.
	stored := make([]*corev1.Pod, len(due))
	err := passes.Parallel(len(due), passes.Width, func(i int) (err error) {
		stored[i], err = r.patch(ctx, due[i], changed[due[i].Name])
		if err != nil {
			r.recorder.Eventf(object, corev1.EventTypeWarning, reasonPatchFailed, "Pod %s was not updated: %v", due[i].Name, err)
		}
		return err
	})
	written := map[types.UID]*corev1.Pod{}
	for _, pod := range stored {
		if pod != nil {
			r.guard.Wrote(object.UID, engine.PodResource.GroupResource(), pod.ResourceVersion)
			written[pod.UID] = pod
		}
	}
	return written, err
}

// patch writes the metadata of one Pod. A Pod that is gone is no error. The UID makes the API server refuse the patch with a
// conflict if the name belongs to a new Pod.
func (r *Reconciler) patch(ctx context.Context, before, after *corev1.Pod) (*corev1.Pod, error) {
	// Only the keys that change are in the patch, so keys of other clients stay.
	metadata := map[string]any{"uid": before.UID}
	if changes := differences(before.Labels, after.Labels); len(changes) > 0 {
		metadata["labels"] = changes
	}
	if changes := differences(before.Annotations, after.Annotations); len(changes) > 0 {
		metadata["annotations"] = changes
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	pod, err := r.kube.CoreV1().Pods(before.Namespace).Patch(ctx, before.Name, types.MergePatchType, body, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("patch Pod %s: %w", before.Name, err)
	}
	return pod, nil
}

// differences returns the entries of after that before does not have. Entries are never removed here.
func differences(before, after map[string]string) map[string]string {
	changes := map[string]string{}
	for key, value := range after {
		if old, found := before[key]; !found || old != value {
			changes[key] = value
		}
	}
	return changes
}

// recount writes the status. It counts the Pods that were assigned, so that a Pod counts after its cost is written. After a
// conflict with admission it counts again, with Pods whose costs are written in the next pass. The Pods are listed after the
// WorkloadSpread was read, so that a slot that is no longer recorded is that of a Pod in the list. listed is a time before that: the
// writes of a pass can take longer than a slot lasts, and a list says nothing about the slots that ended after it. complete says whether
// all Pods were written: only then is the generation observed. If the WorkloadSpread was deleted, the results are empty.
func (r *Reconciler) recount(
	ctx context.Context, object *v1beta1.WorkloadSpread, t *target, listed time.Time, written map[types.UID]*corev1.Pod, complete bool,
	pods []*corev1.Pod,
) (counted spread.Counted, moved spread.Rescheduled, err error) {
	stored, err := controller.UpdateStatus(ctx, r.client.WorkloadSpreads(object.Namespace), object, func(fresh *v1beta1.WorkloadSpread) error {
		if pods == nil {
			listed = r.clock.Now()
			if pods, err = t.pods(); err != nil {
				return err
			}
		}
		// The cache may not show the writes of this pass yet. Without this, a Pod that was just assigned would not count.
		for i, pod := range pods {
			if newer := written[pod.UID]; newer != nil && !older(newer, pod) {
				pods[i] = newer
			}
		}
		before := fresh.Status.SubsetStatuses
		counted = spread.Recount(fresh, pods, t.replicas, t.latest, listed)
		moved = spread.Reschedule(fresh, before, pods, listed)
		pods = nil // After a conflict, there may be others.
		if complete {
			fresh.Status.ObservedGeneration = object.Generation
		}
		return nil
	})
	// Nothing was written if the version is the same.
	if stored != nil && stored.ResourceVersion != object.ResourceVersion {
		r.guard.Wrote(object.UID, resource.GroupResource(), stored.ResourceVersion)
	}
	if stored == nil {
		return spread.Counted{}, spread.Rescheduled{}, err
	}
	return counted, moved, err
}

// older reports whether a Pod is certainly an older version than another one. If the versions cannot be compared, it returns
// false.
func older(pod, than *corev1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, than.ResourceVersion)
	return err == nil && order < 0
}

// report writes events about what the stored status says for the first time. A slot that ended late is no longer in the status,
// so each of these events is written once.
func (r *Reconciler) report(object *v1beta1.WorkloadSpread, counted spread.Counted, moved spread.Rescheduled) {
	for _, late := range counted.Late {
		if late.Deleted {
			r.recorder.Eventf(object, corev1.EventTypeWarning, reasonDeletionFailed,
				"Pod %s/%s in subset %s was expected to be deleted but it wasn't", object.Namespace, late.Key, late.Subset)
		} else {
			r.recorder.Eventf(object, corev1.EventTypeWarning, reasonCreationLate,
				"Pod %s/%s in subset %s was expected to be created but it wasn't", object.Namespace, late.Key, late.Subset)
		}
	}
	for _, subset := range moved.Recovered {
		r.recorder.Eventf(object, corev1.EventTypeNormal, reasonRecovered, "Subset %s is tried again", subset)
	}
}

// reportFull writes an event when the number of Pods that the target wants beyond the limits of all subsets has changed. The
// last number is only in memory, so a new leader writes the event once more.
func (r *Reconciler) reportFull(object *v1beta1.WorkloadSpread, replicas int) {
	// Swap stores the number even if it is zero, so the event is sent again when Pods overflow again.
	overflow := spread.Overflow(object, replicas)
	told, known := r.overflows.Swap(object.UID, overflow)
	if overflow > 0 && (!known || told != overflow) {
		r.recorder.Eventf(object, corev1.EventTypeWarning, reasonFull,
			"All subsets are full: %d of %d Pods are created without a subset", overflow, replicas)
	}
}

// delete deletes Pods that found no node in time. Their workload creates them again, in another subset. The preconditions protect a
// replacement of the same name, and a Pod that has got a node since. Admission returns the slot of the Pod. It returns the delay until a
// deletion is tried again, or zero.
func (r *Reconciler) delete(
	ctx context.Context, object *v1beta1.WorkloadSpread, pods []*corev1.Pod,
) (again time.Duration, failed error) {
	// A Pod that is not deleted now is found again in the next pass.
	errs := make([]error, 0, len(pods))
	for _, pod := range pods {
		err := r.kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion},
		})
		// The Pod has changed. Not every change of a Pod starts a pass.
		if apierrors.IsConflict(err) {
			again = conflictDelay
			continue
		}
		if err == nil || apierrors.IsNotFound(err) {
			continue
		}
		r.recorder.Eventf(object, corev1.EventTypeWarning, reasonDeletionFailed, "Pod %s was not deleted: %v", pod.Name, err)
		errs = append(errs, fmt.Errorf("delete Pod %s: %w", pod.Name, err))
	}
	return again, errors.Join(errs...)
}
