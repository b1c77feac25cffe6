package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/predownload"
)

// downloadRetry is the delay until failed writes of ImagePullJobs are tried again.
const downloadRetry = 30 * time.Second

// Downloads pulls the new images of rollouts on the nodes that will need them. Nothing waits for a pull: an update that comes first
// only gets the image later. It is nil if the feature gate is off.
type Downloads struct {
	// jobs finds the ImagePullJobs of a workload by its UID. The workload owns them, so garbage collection deletes them with it.
	jobs   cache.Indexer
	client client.ImagePullJobsGetter
	// engine writes labels of revisions and records these writes in the guard.
	engine *engine.Engine
}

// Downloads returns the downloads of a kind's objects, or nil if the gate is off.
func (c *Of[T]) Downloads(gate featuregate.Feature, e *engine.Engine) *Downloads {
	if !c.deps.Features.Enabled(gate) {
		return nil
	}
	jobs := c.IndexByOwner(c.deps.KruiseInformers.Apps().V1beta1().ImagePullJobs())
	return &Downloads{jobs: jobs, client: c.deps.Kruise.AppsV1beta1(), engine: e}
}

// Download is what a pass knows about the downloads of its workload.
type Download struct {
	// Revision is the stored update revision, or nil if it is not stored.
	Revision *appsv1.ControllerRevision
	// Done is true if no Pod remains to be updated. Due is true if the user's settings allow a download now. Due is not read if Done
	// is true.
	Done, Due bool
	// Jobs returns the jobs of the update revision, and whether they are worthwhile. Sync calls it only when it must decide, because
	// it reads all images of two revisions.
	Jobs func() (jobs []*v1beta1.ImagePullJob, worthwhile bool, err error)
}

// Sync creates the jobs of the update revision once. It deletes all jobs when no Pod remains to be updated. Whether the jobs exist is
// recorded as a label of the revision, not read from the jobs: a user may delete a job, and a job may end with its TTL. Neither may
// start the pulls again. The label is written last, so after a crash the jobs are created again under the same names.
//
// It returns the delay until it should be tried again, or zero. A failure is logged and is no failure of the pass: images that are not
// pulled ahead stop no rollout, and the delay between passes must not grow for them.
func (d *Downloads) Sync(ctx context.Context, owner engine.Object, download *Download) (retry time.Duration) {
	if d == nil || download.Revision == nil {
		return 0
	}
	if err := d.sync(ctx, owner, download); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to pull images ahead of an update, will retry", "retry", downloadRetry)
		return downloadRetry
	}
	return 0
}

func (d *Downloads) sync(ctx context.Context, owner engine.Object, download *Download) error {
	switch {
	case download.Done:
		return d.end(ctx, owner)
	case predownload.Decided(download.Revision) || !download.Due:
		return nil
	}
	jobs, worthwhile, err := download.Jobs()
	if err != nil {
		return err
	}
	// The label stops the next passes from deciding again. The decision could change during the rollout, when fewer Pods remain.
	if !worthwhile {
		return d.engine.Label(ctx, owner.GetUID(), download.Revision, pub.ImagePreDownloadIgnoredKey)
	}
	failures := make([]error, 0, len(jobs))
	// A failure does not stop the other images. The label is written only when all jobs exist.
	for _, job := range jobs {
		failures = append(failures, d.createJob(ctx, owner, job))
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return d.engine.Label(ctx, owner.GetUID(), download.Revision, pub.ImagePreDownloadCreatedKey)
}

// end deletes the remaining jobs. It runs in every pass after the rollout, and costs one read of the index once the jobs are gone.
func (d *Downloads) end(ctx context.Context, owner engine.Object) error {
	jobs, err := ByOwner[*v1beta1.ImagePullJob](d.jobs, owner)
	if err != nil {
		return err
	}
	var failures []error
	for _, job := range jobs {
		if job.DeletionTimestamp == nil {
			failures = append(failures, d.deleteJob(ctx, job))
		}
	}
	return errors.Join(failures...)
}

// createJob creates a job. A job with that name already exists if an earlier pass could not record the creation in the revision. The
// same name means the same revision and image, so that job is the wanted one.
func (d *Downloads) createJob(ctx context.Context, owner engine.Object, job *v1beta1.ImagePullJob) error {
	_, err := d.client.ImagePullJobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		// Tools of users know this event as a normal one: the update continues without the pull.
		d.engine.Recorder.Eventf(owner, corev1.EventTypeNormal, "FailedCreateImagePullJob", "failed to create ImagePullJob %s for image: %s: %v",
			job.Name, job.Spec.Image, err)
		return fmt.Errorf("create ImagePullJob %s: %w", job.Name, err)
	}
	d.engine.Recorder.Eventf(owner, corev1.EventTypeNormal, "CreatedImagePullJob", "created ImagePullJob %s for image: %s",
		job.Name, job.Spec.Image)
	return nil
}

// deleteJob deletes exactly the job that the cache shows. With the UID as precondition, it never deletes a job of a later rollout
// that has the same name. A job that is already gone is no error.
func (d *Downloads) deleteJob(ctx context.Context, job *v1beta1.ImagePullJob) error {
	err := d.client.ImagePullJobs(job.Namespace).Delete(ctx, job.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &job.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ImagePullJob %s: %w", job.Name, err)
	}
	return nil
}
