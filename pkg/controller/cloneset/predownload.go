package cloneset

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/predownload"
	"kruise.io/kruise/pkg/workload/rollout"
)

// downloads has the new images of a rollout pulled where they will be needed. Nothing waits for it: an update that overtakes
// a pull only finds the image later. It is nil where the gate is off.
type downloads struct {
	jobs  cache.Indexer
	write *writer
}

// newDownloads makes it, and indexes the informer of jobs.
func newDownloads(deps controller.Deps, write *writer) (*downloads, error) {
	informer := deps.KruiseInformers.Apps().V1beta1().ImagePullJobs().Informer()
	if err := controller.IndexByOwner(informer); err != nil {
		return nil, fmt.Errorf("index ImagePullJobs by owner: %w", err)
	}
	return &downloads{jobs: informer.GetIndexer(), write: write}, nil
}

// sync creates the jobs of a revision once, and deletes all jobs when no Pod is to be updated any more.
func (d *downloads) sync(ctx context.Context, v *view, updatedReady int32) error {
	switch {
	case d == nil:
		return nil
	case v.current.Name == v.update.Name:
		return d.end(ctx, v.set)
	case predownload.Decided(v.update) || !v.downloadSettings().Due(int(updatedReady), v.replicas()):
		return nil
	}
	jobs, worthwhile, err := v.downloads()
	if err != nil {
		return err
	}
	if !worthwhile {
		return d.write.label(ctx, v, pub.ImagePreDownloadIgnoredKey)
	}
	failures := make([]error, 0, len(jobs))
	for _, job := range jobs {
		failures = append(failures, d.write.createJob(ctx, v.set, job))
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return d.write.label(ctx, v, pub.ImagePreDownloadCreatedKey)
}

// end deletes the jobs that are left.
func (d *downloads) end(ctx context.Context, set *v1beta1.CloneSet) error {
	jobs, err := controller.ByOwner[*v1beta1.ImagePullJob](d.jobs, set.UID)
	if err != nil {
		return err
	}
	var failures []error
	for _, job := range jobs {
		if job.DeletionTimestamp == nil {
			failures = append(failures, d.write.deleteJob(ctx, job))
		}
	}
	return errors.Join(failures...)
}

func (v *view) downloadSettings() predownload.Settings {
	strategy := v.rolling().InPlaceUpdateStrategy
	if strategy == nil {
		return predownload.Settings{}
	}
	return predownload.Settings{
		Parallelism: strategy.ImagePreDownloadParallelism, TimeoutSeconds: strategy.ImagePreDownloadTimeoutSeconds,
		MinUpdatedReadyPods: strategy.ImagePreDownloadMinUpdatedReadyPods,
	}
}

// downloads are the jobs of the update revision, if they are worth it.
func (v *view) downloads() (jobs []*v1beta1.ImagePullJob, worthwhile bool, err error) {
	from, err := v.template(v.current)
	if err != nil {
		return nil, false, err
	}
	to, err := v.template(v.update)
	if err != nil {
		return nil, false, err
	}
	rolling := v.rolling()
	partition, err := rollout.Partition(rolling.Partition, v.replicas())
	if err != nil {
		return nil, false, fmt.Errorf("resolve partition: %w", err)
	}
	unavailable, err := rollout.MaxUnavailable(rolling.MaxUnavailable, v.replicas())
	if err != nil {
		return nil, false, err
	}
	_, inPlace := inplace.Plan(from, to, v.inPlace)
	r := predownload.Rollout{
		Replicas: v.replicas(), Partition: partition, MaxUnavailable: unavailable,
		InPlace: inPlace && !v.onDelete() && rolling.PodUpdatePolicy != pub.ReCreatePodUpdatePolicy,
	}
	if !r.Worthwhile() {
		return nil, false, nil
	}
	return predownload.Jobs(&predownload.Workload{
		Owner: ownerRef(v.set), Namespace: v.set.Namespace, Selector: v.set.Spec.Selector, From: from, To: to, Update: v.update,
		Settings: v.downloadSettings(),
	}), true, nil
}

// createJob creates a job. One of that name is there when an earlier pass could not say so on the revision.
func (w *writer) createJob(ctx context.Context, set *v1beta1.CloneSet, job *v1beta1.ImagePullJob) error {
	_, err := w.kruise.AppsV1beta1().ImagePullJobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		w.recorder.Eventf(set, corev1.EventTypeNormal, "FailedCreateImagePullJob", "failed to create ImagePullJob %s for image: %s: %v",
			job.Name, job.Spec.Image, err)
		return fmt.Errorf("create ImagePullJob %s: %w", job.Name, err)
	}
	w.recorder.Eventf(set, corev1.EventTypeNormal, "CreatedImagePullJob", "created ImagePullJob %s for image: %s", job.Name, job.Spec.Image)
	return nil
}

func (w *writer) deleteJob(ctx context.Context, job *v1beta1.ImagePullJob) error {
	err := w.kruise.AppsV1beta1().ImagePullJobs(job.Namespace).Delete(ctx, job.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &job.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ImagePullJob %s: %w", job.Name, err)
	}
	return nil
}

// label writes what was decided on the update revision, so that it is decided once.
func (w *writer) label(ctx context.Context, v *view, key string) error {
	labelled := v.update.DeepCopy()
	if labelled.Labels == nil {
		labelled.Labels = map[string]string{}
	}
	labelled.Labels[key] = "true"
	written, err := w.kube.AppsV1().ControllerRevisions(labelled.Namespace).Update(ctx, labelled, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("label revision %s: %w", labelled.Name, err)
	}
	w.guard.Wrote(v.set.UID, revisions, written.ResourceVersion)
	return nil
}
