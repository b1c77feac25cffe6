package broadcastjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
)

// event is an event to send after the status was written, so that it is sent once. If the status cannot be written, the next pass
// decides the same and sends them then.
type event struct{ kind, reason, message string }

// verdict is what a pass decides about a job. judge fills it without writing anything.
type verdict struct {
	plan *engine.Plan
	// status is the status after the pass. It begins as a copy of the stored one.
	status v1beta1.BroadcastJobStatus
	events []event
	// pause is true if the spec is to be paused. finish is true if the job ends once the plan was executed. fewer is true if a failed Pod
	// that the user has seen is gone, so that the next failure is a new one.
	pause, finish, fewer bool
	// recheck is the delay until the next pass is due even if nothing changes.
	recheck time.Duration
	// err is an error of the decision. The plan is still executed.
	err error
}

// pass runs one pass over a job that has not ended. The order of writes is: the pause, the Pods, the status. After a crash between
// two of them, the next pass finds the facts in the objects and decides again. A decided end is stored in a pass of its own, because
// the Pods that it deletes take the facts with them.
func (r *Reconciler) pass(ctx context.Context, job *v1beta1.BroadcastJob, view *engine.View) (reconcile.Result, error) {
	c, err := r.count(job, view)
	if err != nil {
		return reconcile.Result{}, err
	}
	v := r.judge(job, view, c)
	// The spec is paused before the status says so. Otherwise the next pass would take the unpaused spec for the user's wish to continue.
	if v.pause || v.fewer {
		if job, err = r.remember(ctx, job, c.counts[failed], v.pause); err != nil || job == nil {
			return reconcile.Result{}, err
		}
	}
	outcome := r.engine.Execute(ctx, view, v.plan)
	failures := errors.Join(v.err, outcome.Scale, outcome.Update)
	// The pause until the next pass begins after the writes of this one.
	r.statuses.Pace.Passed(job.UID, len(c.desired))
	// The end is reported only when the Pods are deleted. A job that ended creates no Pods, and clients may remove it.
	if v.finish && (failures != nil || outcome.Recheck > 0) {
		// Not all Pods are deleted. The next pass continues.
		return reconcile.Result{RequeueAfter: outcome.Recheck}, failures
	}
	recheck, reported := r.report(ctx, job, v)
	for _, due := range []time.Duration{v.recheck, outcome.Recheck} {
		recheck = delay.Sooner(recheck, due)
	}
	return reconcile.Result{RequeueAfter: recheck}, errors.Join(failures, reported)
}

// report writes the status and then sends the events, or returns the delay until the status may be written. A status that says more
// than other counts does not wait.
func (r *Reconciler) report(ctx context.Context, job *v1beta1.BroadcastJob, v *verdict) (wait time.Duration, err error) {
	urgent := v.finish || decided(&v.status) != nil || v.status.Active == 0 ||
		job.Status.Phase != v.status.Phase || job.Status.Desired != v.status.Desired
	if wait, err = r.statuses.Report(ctx, job, &v.status, int(v.status.Desired), urgent); err != nil || wait > 0 {
		return wait, err
	}
	for _, e := range v.events {
		r.recorder.Event(job, e.kind, e.reason, e.message)
	}
	return 0, nil
}

// judge decides what to do for the job. At most one of its cases applies: a decided end, pause, failure, deadline, completion, or
// going on.
func (r *Reconciler) judge(job *v1beta1.BroadcastJob, view *engine.View, c *census) *verdict {
	v := &verdict{plan: &engine.Plan{}, status: *job.Status.DeepCopy()}
	// An end that was decided stands, whatever the user or the Pods change.
	if why := decided(&v.status); why != nil {
		v.carryOut(*why, job, view, c)
		return v
	}
	// The deadline counts from the stored time, so a restart of the controller does not extend it.
	now := metav1.NewTime(view.Now)
	if v.status.StartTime == nil {
		v.status.StartTime = &now
	}
	v.status.Active, v.status.Succeeded, v.status.Failed = int32(c.counts[active]), int32(c.counts[succeeded]), int32(c.counts[failed])
	v.status.Desired = int32(len(c.desired))
	v.fewer = c.counts[failed] < seenFailures(job)
	for _, name := range c.doubled {
		v.events = append(v.events, event{corev1.EventTypeWarning, "DuplicatePodCreatedOnSameNode",
			fmt.Sprintf("node %s has more than one Pod of the job", name)})
	}
	// While a job is paused, counts are reported and nothing is created, deleted or ended. Its deadline is not enforced either.
	if job.Spec.Paused {
		v.status.Phase = v1beta1.BroadcastJobPaused
		return v
	}
	if v.status.Phase == v1beta1.BroadcastJobPaused {
		v.events = append(v.events, event{corev1.EventTypeNormal, "Continue", "continue to process job"})
	}
	v.status.Phase = v1beta1.BroadcastJobRunning
	policy := job.Spec.FailurePolicy.Type
	// Without a deadline, left is zero, which means no recheck.
	left, limited := deadlineIn(job, &v.status, view.Now)
	switch {
	// Only failures that are new since the last pause count, or the job could never go on.
	case policy == v1beta1.FailurePolicyTypePause && c.counts[failed] > seenFailures(job):
		v.pause, v.status.Phase = true, v1beta1.BroadcastJobPaused
		v.events = append(v.events, event{corev1.EventTypeWarning, "Paused", "job is paused, due to failed pod"})
	case policy == v1beta1.FailurePolicyTypeFailFast && c.counts[failed] > 0:
		v.end(condition(v1beta1.JobFailureTarget, "failed pod is found",
			"failure policy is FailurePolicyTypeFailFast and failed pod is found", now), job, view, c)
	case limited && left <= 0:
		v.end(condition(v1beta1.JobFailureTarget, "DeadlineExceeded",
			fmt.Sprintf("Job %s/%s was active longer than specified deadline", job.Namespace, job.Name), now), job, view, c)
	// A job without nodes is not complete: nodes can still join.
	case job.Spec.CompletionPolicy.Type != v1beta1.CompletionPolicyNever && len(c.desired) > 0 && c.done == len(c.desired):
		v.end(condition(v1beta1.JobSuccessCriteriaMet, "JobComplete", "the Pods of all nodes ended", now), job, view, c)
	default:
		v.recheck = left
		r.run(job, view, c, v)
	}
	return v
}

// deadlineIn returns how long the job may still take, and whether it has a deadline. A standing job, which never completes, has none.
func deadlineIn(job *v1beta1.BroadcastJob, status *v1beta1.BroadcastJobStatus, now time.Time) (left time.Duration, limited bool) {
	policy := &job.Spec.CompletionPolicy
	if policy.ActiveDeadlineSeconds == nil || policy.Type == v1beta1.CompletionPolicyNever {
		return 0, false
	}
	return status.StartTime.Add(delay.Seconds(*policy.ActiveDeadlineSeconds)).Sub(now), true
}

// seenFailures returns how many failed Pods the user has seen: a job that paused for them goes on in spite of them. An annotation
// that is missing or cannot be read counts as 0.
func seenFailures(job *v1beta1.BroadcastJob) int {
	number, err := strconv.Atoi(job.Annotations[pub.BroadcastJobSeenFailuresKey])
	if err != nil {
		return 0
	}
	return number
}

// remember records the failures that need no pause any more, and pauses the job if pause is true. It returns the stored job, or nil if
// the job does not exist. Both are one write, so a crash cannot leave a pause whose failures are unknown. The patch names the
// resourceVersion, so a user who resumes the job at the same time wins, and the next pass decides again.
func (r *Reconciler) remember(ctx context.Context, job *v1beta1.BroadcastJob, failures int, pause bool) (*v1beta1.BroadcastJob, error) {
	change := map[string]any{"metadata": map[string]any{
		"uid": job.UID, "resourceVersion": job.ResourceVersion,
		"annotations": map[string]string{pub.BroadcastJobSeenFailuresKey: strconv.Itoa(failures)},
	}}
	if pause {
		change["spec"] = map[string]any{"paused": true}
	}
	patch, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("encode the seen failures: %w", err)
	}
	written, err := r.client.BroadcastJobs(job.Namespace).Patch(ctx, job.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	// The job is deleted, so nothing is left to decide.
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("record the seen failures: %w", err)
	}
	r.guard.Wrote(job.UID, broadcastjobs.GroupResource(), written.ResourceVersion)
	return written, nil
}
