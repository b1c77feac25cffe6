package imagepulljob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/imagepull"
)

// staleRecheck is how soon a stale cache is looked at again, should the event that refreshes it concern no tag of the job.
const staleRecheck = 5 * time.Second

// Reconcile brings a job one step on.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	job, err := r.jobs.ImagePullJobs(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, fmt.Errorf("get ImagePullJob: %w", err)
	}
	if pending := r.guard.Ready(job.UID); pending != nil {
		klog.FromContext(ctx).V(4).Info("Cache has not seen an earlier write", "resource", pending.Resource)
		r.metrics.Stale(Name)
		return controller.Result{RequeueAfter: staleRecheck}, nil
	}
	switch {
	case job.DeletionTimestamp != nil:
		return controller.Result{}, r.release(ctx, job)
	case job.Status.CompletionTime != nil:
		return r.finish(ctx, job)
	case len(job.Spec.PullSecrets) > 0 && !slices.Contains(job.Finalizers, pub.DeletionProtectionFinalizer):
		protected := job.DeepCopy()
		protected.Finalizers = append(protected.Finalizers, pub.DeletionProtectionFinalizer)
		return controller.Result{}, r.update(ctx, protected)
	default:
		return r.pull(ctx, job)
	}
}

// release lets go of the copies of Secrets, and then of the job.
func (r *Reconciler) release(ctx context.Context, job *v1beta1.ImagePullJob) error {
	if !slices.Contains(job.Finalizers, pub.DeletionProtectionFinalizer) {
		return nil
	}
	if err := r.copies.release(ctx, job, nil); err != nil {
		return err
	}
	freed := job.DeepCopy()
	freed.Finalizers = slices.DeleteFunc(freed.Finalizers, func(name string) bool { return name == pub.DeletionProtectionFinalizer })
	return r.update(ctx, freed)
}

func (r *Reconciler) update(ctx context.Context, job *v1beta1.ImagePullJob) error {
	_, err := r.kruise.AppsV1beta1().ImagePullJobs(job.Namespace).Update(ctx, job, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("update finalizers: %w", err)
	}
	return nil
}

// finish lets go of what an ended job holds, and deletes the job in its time.
func (r *Reconciler) finish(ctx context.Context, job *v1beta1.ImagePullJob) (controller.Result, error) {
	if err := r.release(ctx, job); err != nil {
		return controller.Result{}, err
	}
	ttl := job.Spec.CompletionPolicy.TTLSecondsAfterFinished
	if ttl == nil || endless(job) {
		return controller.Result{}, nil
	}
	due := job.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second)
	if wait := due.Sub(r.clock.Now()); wait > 0 {
		return controller.Result{RequeueAfter: wait}, nil
	}
	klog.FromContext(ctx).V(2).Info("Deleting the job, its time is over")
	err := r.kruise.AppsV1beta1().ImagePullJobs(job.Namespace).Delete(ctx, job.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &job.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return controller.Result{}, fmt.Errorf("delete ImagePullJob: %w", err)
	}
	return controller.Result{}, nil
}

// pull counts, asks more nodes, and reports.
func (r *Reconciler) pull(ctx context.Context, job *v1beta1.ImagePullJob) (controller.Result, error) {
	ref, err := imagepull.Parse(job.Spec.Image)
	if err != nil {
		r.recorder.Eventf(job, corev1.EventTypeWarning, "InvalidImage", "%v: name one like example.com/team/app:v1", err)
		return controller.Result{}, nil
	}
	chosen, err := r.choose(job)
	if err != nil {
		return controller.Result{}, err
	}
	secrets, missing, err := r.copies.sync(ctx, job)
	if err != nil {
		return controller.Result{}, err
	}
	if len(missing) > 0 {
		r.recorder.Eventf(job, corev1.EventTypeWarning, "MissingPullSecret", "no Secret %v in namespace %s, pulling without: create it, "+
			"and the nodes get it while the job runs", missing, job.Namespace)
	}
	now := r.clock.Now()
	c := count(chosen, job.UID, ref, secrets)
	status := c.status(job, now)
	var pushed error
	if status.CompletionTime == nil {
		q := &request{job: job, ref: ref, secrets: secrets, tagTTL: r.tagTTL, now: now, random: random, last: r.lastVersion(ref)}
		var asked int32
		asked, pushed = r.push(ctx, q, &c)
		status.Active += asked
	}
	if err := r.report(ctx, job, status); err != nil {
		return controller.Result{}, errors.Join(pushed, err)
	}
	return controller.Result{RequeueAfter: r.recheckIn(job, &status, now)}, pushed
}

func (r *Reconciler) report(ctx context.Context, job *v1beta1.ImagePullJob, status v1beta1.ImagePullJobStatus) error {
	if apiequality.Semantic.DeepEqual(job.Status, status) {
		return nil
	}
	after := job.DeepCopy()
	after.Status = status
	_, err := r.kruise.AppsV1beta1().ImagePullJobs(job.Namespace).UpdateStatus(ctx, after, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("update status: %w", err)
	}
	return nil
}

// recheckIn is when the job must be looked at though nothing changed: at its deadline, and for the Secrets that it names.
func (r *Reconciler) recheckIn(job *v1beta1.ImagePullJob, status *v1beta1.ImagePullJobStatus, now time.Time) time.Duration {
	if status.CompletionTime != nil {
		return 0
	}
	recheck := max(deadlineIn(job, status, now), time.Second)
	if len(job.Spec.PullSecrets) > 0 && job.Namespace != r.copies.namespace {
		recheck = min(recheck, secretsCheck)
	}
	if recheck == noDeadline {
		return 0
	}
	return recheck
}
