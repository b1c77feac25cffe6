package imagepulljob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/imagetag"
)

// Reconcile advances, finishes or releases one job. Exactly one of these steps is made in a pass.
func (r *Reconciler) Reconcile(ctx context.Context, job *v1beta1.ImagePullJob) (reconcile.Result, error) {
	switch {
	case job.DeletionTimestamp != nil:
		return reconcile.Result{}, r.release(ctx, job)
	case job.Status.CompletionTime != nil:
		return r.finish(ctx, job)
	// The finalizer is stored before the first Secret is copied. Without it, a deleted job could leave copies of credentials behind. New
	// jobs have it already.
	case len(job.Spec.PullSecrets) > 0 && !slices.Contains(job.Finalizers, pub.DeletionProtectionFinalizer):
		// The write is an event, and its pass goes on with the pull.
		protected := job.DeepCopy()
		protected.Finalizers = append(protected.Finalizers, pub.DeletionProtectionFinalizer)
		return reconcile.Result{}, r.update(ctx, protected)
	}
	// The nodes that may pull at once report about as often as that. So a job that asks one node after the other does not wait.
	nodes := min(int(job.Status.Desired), parallelism(job.Spec.Parallelism))
	if wait := r.pace.PassIn(job.UID, nodes); wait > 0 {
		return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
	}
	defer r.pace.Passed(job.UID, nodes)
	return r.pull(ctx, job)
}

// release releases the job's copies of Secrets, and then removes the job's finalizer. The finalizer goes last, so a crash in between
// is repaired by the next pass.
func (r *Reconciler) release(ctx context.Context, job *v1beta1.ImagePullJob) error {
	if !slices.Contains(job.Finalizers, pub.DeletionProtectionFinalizer) {
		return nil
	}
	if err := r.copies.release(ctx, job, nil); err != nil {
		return err
	}
	return r.free(ctx, job)
}

// free removes the job's finalizer.
func (r *Reconciler) free(ctx context.Context, job *v1beta1.ImagePullJob) error {
	if !slices.Contains(job.Finalizers, pub.DeletionProtectionFinalizer) {
		return nil
	}
	freed := job.DeepCopy()
	freed.Finalizers = slices.DeleteFunc(freed.Finalizers, func(name string) bool { return name == pub.DeletionProtectionFinalizer })
	return r.update(ctx, freed)
}

// absent handles a key for which the cache has no job. It is the key of a copy, or of a job that is gone. A job usually releases its
// copies before it goes. One whose finalizer was removed by hand, or that was lost with the store, has not.
func (r *Reconciler) absent(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	used, err := r.copies.indexer.IndexKeys(referenceIndex, key.String())
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("list pull secrets: %w", err)
	}
	if len(used) > 0 {
		// The cache may not show a new job yet.
		_, err := r.kruise.AppsV1beta1().ImagePullJobs(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return reconcile.Result{}, fmt.Errorf("get the job: %w", err)
		}
		if err != nil {
			gone := &v1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			return reconcile.Result{}, r.copies.release(ctx, gone, nil)
		}
	}
	return r.copies.reap(ctx, key)
}

// update writes the finalizers of a job. A conflict is returned, so the pass is repeated with the newer job.
func (r *Reconciler) update(ctx context.Context, job *v1beta1.ImagePullJob) error {
	_, err := r.kruise.AppsV1beta1().ImagePullJobs(job.Namespace).Update(ctx, job, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("update finalizers: %w", err)
	}
	return nil
}

// finish deletes the copies that no running job uses, and deletes the job after its TTL. An endless job has no TTL. The copies name the job
// as long as they exist, because clients look for it there. If the job is deleted first, absent releases them.
func (r *Reconciler) finish(ctx context.Context, job *v1beta1.ImagePullJob) (reconcile.Result, error) {
	if err := r.free(ctx, job); err != nil {
		return reconcile.Result{}, err
	}
	wait, err := r.copies.reapOf(ctx, job)
	if err != nil || endless(job) {
		return reconcile.Result{RequeueAfter: wait}, err
	}
	result, err := controller.DeleteExpired(ctx, r.kruise.AppsV1beta1().ImagePullJobs(job.Namespace), job,
		job.Status.CompletionTime, job.Spec.CompletionPolicy.TTLSecondsAfterFinished, r.clock.Now())
	result.RequeueAfter = delay.Sooner(result.RequeueAfter, wait)
	return result, err
}

// pull counts the nodes, asks more of them, and updates the status. The status is written even if asking failed, and the errors are
// returned after it.
func (r *Reconciler) pull(ctx context.Context, job *v1beta1.ImagePullJob) (reconcile.Result, error) {
	// Validation refuses such images. No retry can cure one, so there is no error.
	ref, err := imagetag.Parse(job.Spec.Image)
	if err != nil {
		r.recorder.Eventf(job, corev1.EventTypeWarning, "InvalidImage", "%v; use an image such as example.com/team/app:v1", err)
		return reconcile.Result{}, nil
	}
	chosen, err := r.choose(job)
	if err != nil {
		return reconcile.Result{}, err
	}
	// If the Secrets are not known, no node is asked: it would pull without credentials. The job is still counted, so its deadline
	// holds.
	secrets, problem, unknown := r.secretsOf(ctx, job)
	refused, again := r.refusals.nodes(job, ref)
	now := r.clock.Now()
	// The counts come from the cache, which shows all own writes of the last pass. The guard has waited for that.
	q := &request{
		job: job, ref: ref, secrets: secrets, tagTTL: r.tagTTL, now: now, random: random, last: r.lastVersion(ref), copies: r.copies,
	}
	c := q.count(chosen, refused)
	status := c.status(job, now)
	var pushed error
	if status.CompletionTime == nil && unknown == nil {
		var asked int32
		var refuse []string
		asked, refuse, pushed = r.push(ctx, q, &c)
		// Refusals can complete the job, so the status is computed again.
		if len(refuse) > 0 {
			c.refuse(refuse)
			status = c.status(job, now)
		}
		// The nodes that were just asked are not in the count, which comes from the cache.
		status.Active += asked
	}
	if problem != "" {
		status.Message += "; " + problem
	}
	if err := r.report(ctx, job, status); err != nil {
		return reconcile.Result{}, errors.Join(unknown, pushed, err)
	}
	if status.CompletionTime != nil {
		r.tellEnd(job, &status)
	}
	recheck := r.recheckIn(job, &status, now)
	if status.CompletionTime == nil {
		recheck = delay.Sooner(recheck, again)
		// A node that falls silent frees its place for one of these.
		if len(c.unasked) > 0 {
			recheck = delay.Sooner(recheck, c.soon)
		}
	}
	return reconcile.Result{RequeueAfter: recheck}, errors.Join(unknown, pushed)
}

// secretsOf returns references to the copies of the job's Secrets. It tells the user about Secrets that cannot be used. The problem is
// for the status of the job. If it returns an error, no node can be asked now, but the job is counted and may end.
func (r *Reconciler) secretsOf(ctx context.Context, job *v1beta1.ImagePullJob) ([]v1beta1.ReferenceObject, string, error) {
	secrets, missing, problem, err := r.copies.sync(ctx, job)
	if err != nil {
		r.recorder.Eventf(job, corev1.EventTypeWarning, "FailedCopyPullSecret", "cannot copy the pull secrets, so no node is asked: %v", err)
	}
	if len(missing) > 0 {
		r.recorder.Eventf(job, corev1.EventTypeWarning, "MissingPullSecret",
			"cannot read Secrets %v in namespace %s, so nodes pull without them; create them or grant access while the job runs",
			missing, job.Namespace)
	}
	return secrets, problem, err
}

// report writes the status if it differs.
func (r *Reconciler) report(ctx context.Context, job *v1beta1.ImagePullJob, status v1beta1.ImagePullJobStatus) error {
	return controller.ReplaceStatus(ctx, r.kruise.AppsV1beta1().ImagePullJobs(job.Namespace), job,
		func(fresh *v1beta1.ImagePullJob) { fresh.Status = status })
}

// namedNodes is how many nodes an event names.
const namedNodes = 10

// tellEnd sends an event about a job that has ended without all that its user wanted. The message of the status is the same for every end.
func (r *Reconciler) tellEnd(job *v1beta1.ImagePullJob, status *v1beta1.ImagePullJobStatus) {
	switch {
	case status.Desired == 0:
		r.recorder.Event(job, corev1.EventTypeWarning, "NoNodes",
			"the job selects no node that has a NodeImage, so nothing was pulled; correct the names or labels in another job")
	case status.Failed > 0:
		more := ""
		if len(status.FailedNodes) > namedNodes {
			more = ", and others"
		}
		r.recorder.Eventf(job, corev1.EventTypeWarning, "NodesFailed", "%d of %d nodes have not pulled the image: %s%s",
			status.Failed, status.Desired, strings.Join(status.FailedNodes[:min(len(status.FailedNodes), namedNodes)], ", "), more)
	}
}

// recheckIn returns the delay until the job must be reconciled even if nothing changes: for its deadline, and for the Secrets
// that it names.
func (r *Reconciler) recheckIn(job *v1beta1.ImagePullJob, status *v1beta1.ImagePullJobStatus, now time.Time) time.Duration {
	if status.CompletionTime != nil {
		return 0
	}
	// The status has whole seconds. A pass that comes too early waits for at least another second.
	recheck := max(deadlineIn(job, status, now), time.Second)
	// Secrets of users are not watched, so the job reads them again from time to time.
	if len(job.Spec.PullSecrets) > 0 && job.Namespace != r.copies.namespace {
		recheck = min(recheck, secretsCheck)
	}
	if recheck == noDeadline {
		return 0
	}
	return recheck
}
