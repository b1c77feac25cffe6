package cloneset

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/predownload"
	"kruise.io/kruise/pkg/workload/rollout"
)

// fewReplicas is the number of replicas up to which an update finishes before an earlier pull would.
const fewReplicas = 3

// downloads pulls the new images of a rollout on the nodes that will need them. Nothing waits for a pull: an update that comes
// first only gets the image later. It is nil if the feature gate is off.
type downloads struct {
	jobs   cache.Indexer
	client client.ImagePullJobsGetter
	engine *engine.Engine
}

// sync creates the jobs of the update revision once. It deletes all jobs when no Pod remains to be updated.
func (d *downloads) sync(ctx context.Context, p *planner, revision *appsv1.ControllerRevision, updatedReady int32) error {
	switch {
	case d == nil || revision == nil:
		return nil
	case p.Current.Name == p.Update.Name:
		return d.end(ctx, p.set)
	case predownload.Decided(revision) || !p.downloadSettings().Due(int(updatedReady), p.Replicas):
		return nil
	}
	jobs, worthwhile, err := p.downloads()
	if err != nil {
		return err
	}
	if !worthwhile {
		return d.engine.Label(ctx, p.set.UID, revision, pub.ImagePreDownloadIgnoredKey)
	}
	failures := make([]error, 0, len(jobs))
	for _, job := range jobs {
		failures = append(failures, d.createJob(ctx, p.set, job))
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return d.engine.Label(ctx, p.set.UID, revision, pub.ImagePreDownloadCreatedKey)
}

// end deletes the remaining jobs.
func (d *downloads) end(ctx context.Context, set *v1beta1.CloneSet) error {
	jobs, err := controller.ByOwner[*v1beta1.ImagePullJob](d.jobs, set.UID)
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

func (p *planner) downloadSettings() predownload.Settings {
	strategy := p.rolling.InPlaceUpdateStrategy
	if strategy == nil {
		return predownload.Settings{}
	}
	return predownload.Settings{
		Parallelism: strategy.ImagePreDownloadParallelism, TimeoutSeconds: strategy.ImagePreDownloadTimeoutSeconds,
		MinUpdatedReadyPods: strategy.ImagePreDownloadMinUpdatedReadyPods,
	}
}

// downloads returns the jobs of the update revision, and whether they are worthwhile.
func (p *planner) downloads() (jobs []*v1beta1.ImagePullJob, worthwhile bool, err error) {
	from, err := p.Template(p.Current)
	if err != nil {
		return nil, false, err
	}
	to, err := p.Template(p.Update)
	if err != nil {
		return nil, false, err
	}
	rolling := p.rolling
	partition, err := rollout.Partition(rolling.Partition, p.Replicas)
	if err != nil {
		return nil, false, fmt.Errorf("resolve partition: %w", err)
	}
	unavailable, err := rollout.MaxUnavailable(rolling.MaxUnavailable, p.Replicas)
	if err != nil {
		return nil, false, err
	}
	_, inPlace := inplace.Plan(from, to, p.InPlace)
	r := predownload.Rollout{
		Few: fewReplicas, Replicas: p.Replicas, Partition: partition, MaxUnavailable: unavailable,
		InPlace: inPlace && !onDelete(p.set) && rolling.PodUpdatePolicy != pub.ReCreatePodUpdatePolicy,
	}
	if !r.Worthwhile() {
		return nil, false, nil
	}
	return predownload.Jobs(&predownload.Workload{
		Owner: p.OwnerRef(), Namespace: p.set.Namespace, Selector: p.set.Spec.Selector,
		From: []*corev1.PodTemplateSpec{from}, To: to, Update: p.Update, Settings: p.downloadSettings(),
	}), true, nil
}

// createJob creates a job. A job with that name already exists if an earlier pass could not record the creation in the revision.
func (d *downloads) createJob(ctx context.Context, set *v1beta1.CloneSet, job *v1beta1.ImagePullJob) error {
	_, err := d.client.ImagePullJobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		d.engine.Recorder.Eventf(set, corev1.EventTypeNormal, "FailedCreateImagePullJob", "failed to create ImagePullJob %s for image: %s: %v",
			job.Name, job.Spec.Image, err)
		return fmt.Errorf("create ImagePullJob %s: %w", job.Name, err)
	}
	d.engine.Recorder.Eventf(set, corev1.EventTypeNormal, "CreatedImagePullJob", "created ImagePullJob %s for image: %s",
		job.Name, job.Spec.Image)
	return nil
}

func (d *downloads) deleteJob(ctx context.Context, job *v1beta1.ImagePullJob) error {
	err := d.client.ImagePullJobs(job.Namespace).Delete(ctx, job.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &job.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ImagePullJob %s: %w", job.Name, err)
	}
	return nil
}
