package advancedcronjob

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
)

// statusOf returns the status that follows from the children, and the children that finished since the last status. The time of the
// last run never goes back: its child may be deleted already. It is computed from scratch, so a reference to a child that no longer
// exists goes away.
func statusOf(cron *v1beta1.AdvancedCronJob, all []*child) (status v1beta1.AdvancedCronJobStatus, finished []*child) {
	status = v1beta1.AdvancedCronJobStatus{Type: templateOf(cron), LastScheduleTime: cron.Status.LastScheduleTime}
	for _, c := range all {
		// Children are compared by UID, because a name can come back.
		before := slices.IndexFunc(cron.Status.Active, func(ref corev1.ObjectReference) bool { return ref.UID == c.object.GetUID() })
		switch {
		case c.finished && before >= 0:
			finished = append(finished, c)
		// This child was reported as finished before, or was never seen active.
		case c.finished:
		case before >= 0:
			// The version of the reference is that of its first report. Otherwise each change of a child would be one of the cron job.
			status.Active = append(status.Active, cron.Status.Active[before])
		default:
			status.Active = append(status.Active, c.reference())
		}
		// This restores the time of a run whose status was never written.
		if t := c.scheduled(); !t.IsZero() && (status.LastScheduleTime == nil || t.After(status.LastScheduleTime.Time)) {
			status.LastScheduleTime = timeOf(t)
		}
	}
	// The index of the cache has no order. Without one, the status would change in each pass.
	slices.SortFunc(status.Active, func(a, b corev1.ObjectReference) int { return strings.Compare(a.Name, b.Name) })
	return status, finished
}

func timeOf(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }

// report writes the status if it differs. The edit ignores what the server has now: only this controller writes the status.
func (r *Reconciler) report(ctx context.Context, cron *v1beta1.AdvancedCronJob, status *v1beta1.AdvancedCronJobStatus) error {
	stored, err := controller.UpdateStatus(ctx, r.client.AdvancedCronJobs(cron.Namespace), cron, func(fresh *v1beta1.AdvancedCronJob) error {
		fresh.Status = *status
		return nil
	})
	// Without a write, or if the cron job is deleted, there is no version that the cache has to show.
	if err == nil && stored != nil && stored.ResourceVersion != cron.ResourceVersion {
		r.guard.Wrote(cron.UID, advancedcronjobs.GroupResource(), stored.ResourceVersion)
	}
	return err
}

// trim deletes the oldest children that finished, beyond the user's limits. A limit of nil keeps all. Successful and failed children
// have their own limits. A child that is being deleted does not count.
func (r *Reconciler) trim(ctx context.Context, cron *v1beta1.AdvancedCronJob, all []*child) error {
	var failures []error
	for failed, limit := range map[bool]*int32{false: cron.Spec.SuccessfulJobsHistoryLimit, true: cron.Spec.FailedJobsHistoryLimit} {
		if limit == nil {
			continue
		}
		var ended []*child
		for _, c := range all {
			if c.finished && c.failed == failed && c.object.GetDeletionTimestamp() == nil {
				ended = append(ended, c)
			}
		}
		// The name decides between children that started in the same second, so each pass chooses the same ones.
		slices.SortFunc(ended, func(a, b *child) int {
			return cmp.Or(started(a).Compare(started(b)), strings.Compare(a.object.GetName(), b.object.GetName()))
		})
		for _, c := range ended[:max(0, len(ended)-int(*limit))] {
			failures = append(failures, r.delete(ctx, cron, c))
		}
	}
	return errors.Join(failures...)
}

// started returns when a child started. One that never did is the oldest. It is therefore the first one that trim deletes.
func started(c *child) time.Time {
	if c.started == nil {
		return time.Time{}
	}
	return c.started.Time
}
