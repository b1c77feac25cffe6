package imagelistpulljob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/passes"
)

// Name is the controller's name in logs, events and metrics.
const Name = "imagelistpulljob-controller"

var (
	kind        = v1beta1.SchemeGroupVersion.WithKind("ImageListPullJob")
	jobResource = v1beta1.SchemeGroupVersion.WithResource("imagepulljobs")
	jobs        = jobResource.GroupResource()
)

// Reconciler reconciles ImageListPullJobs.
type Reconciler struct {
	kruise versioned.Interface
	// children finds ImagePullJobs by the UID of their list job.
	children cache.Indexer
	// guard gets each creation and deletion of a child. Names are random, so only the guard prevents a second child for an image.
	guard    *consistency.Guard
	recorder record.EventRecorder
	clock    clock.PassiveClock
}

// New returns the controller. It adds an index to an informer, so it must be called before the informer starts. It returns an
// error if an informer rejects an index or a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	_, c := build(deps)
	return c.Build()
}

// build makes the reconciler and its skeleton, so that tests can use the reconciler without a queue.
func build(deps controller.Deps) (*Reconciler, *controller.Of[*v1beta1.ImageListPullJob]) {
	ours := deps.KruiseInformers.Apps().V1beta1()
	r := &Reconciler{kruise: deps.Kruise, recorder: deps.Recorder(Name), clock: deps.Clock}
	c := controller.For(deps, Name, ours.ImageListPullJobs(), r.Reconcile)
	c.Absent(r.absent)
	r.guard, r.children = c.Guard(), c.Owns(jobResource, ours.ImagePullJobs())
	return r, c
}

// Reconcile creates and deletes the jobs of a list job, and updates its status. It deletes a finished list job after its TTL.
func (r *Reconciler) Reconcile(ctx context.Context, list *v1beta1.ImageListPullJob) (reconcile.Result, error) {
	switch {
	// The children are deleted once the list job is gone, or released if the user keeps them.
	case list.DeletionTimestamp != nil:
		return reconcile.Result{}, nil
	// A list job that has ended creates no more children, even if its spec changes.
	case list.Status.CompletionTime != nil:
		return r.finish(ctx, list)
	}
	return reconcile.Result{}, r.sync(ctx, list)
}

// sync creates and deletes children as the list job requires, and updates the status. All three writes are tried even if one fails.
func (r *Reconciler) sync(ctx context.Context, list *v1beta1.ImageListPullJob) error {
	hash, err := templateHash(list)
	if err != nil {
		return err
	}
	// The label is written first. Its event causes the pass that creates the children.
	if list.Labels[pub.ControllerRevisionHashKey] != hash {
		return r.label(ctx, list, hash)
	}
	children, err := controller.ByOwner[*v1beta1.ImagePullJob](r.children, list)
	if err != nil {
		return err
	}
	p := planFor(list, children, hash)
	// The status is written after a failure, too: it counts the children that exist.
	err = errors.Join(r.remove(ctx, list, p.remove), r.create(ctx, list, p.create, hash))
	return errors.Join(err, r.report(ctx, list, status(list, p.keep, r.clock.Now())))
}

// label records on the list job the hash of its children's template.
func (r *Reconciler) label(ctx context.Context, list *v1beta1.ImageListPullJob, hash string) error {
	// The UID in the patch keeps it from changing a list job that was created again under the name.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": list.UID, "labels": map[string]string{pub.ControllerRevisionHashKey: hash},
	}})
	if err != nil {
		return fmt.Errorf("encode labels: %w", err)
	}
	_, err = r.kruise.AppsV1beta1().ImageListPullJobs(list.Namespace).Patch(ctx, list.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("patch labels: %w", err)
	}
	return nil
}

// create creates the children of images, in growing batches, starting with one, as long as no creation fails. An invalid template is
// therefore rejected once, and not once for each image. It sends one event for all that were created, and one for the failure.
func (r *Reconciler) create(ctx context.Context, list *v1beta1.ImageListPullJob, images []string, hash string) error {
	client := r.kruise.AppsV1beta1().ImagePullJobs(list.Namespace)
	images = ordering.Shuffled(images)
	var created atomic.Int32
	err := passes.SlowStart(len(images), passes.Width, func(i int) error {
		image := images[i]
		// A creation without an answer can leave a second child. The next pass sees both and removes the younger one.
		made, err := client.Create(ctx, child(list, image, hash), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create ImagePullJob for image %s: %w", image, err)
		}
		created.Add(1)
		r.guard.Wrote(list.UID, jobs, made.ResourceVersion)
		return nil
	})
	// A list can have 255 images, so there is one event for all of them.
	if n := created.Load(); n > 0 {
		r.recorder.Eventf(list, corev1.EventTypeNormal, "Successful create ImagePullJob", "Create %d ImagePullJob", n)
	}
	if err != nil {
		r.recorder.Eventf(list, corev1.EventTypeWarning, "Failed create ImagePullJob", "%v", err)
	}
	return err
}

// remove deletes children. Each deletion names the UID. A child that is already deleted counts as removed, and the guard waits until
// the cache shows that.
func (r *Reconciler) remove(ctx context.Context, list *v1beta1.ImageListPullJob, children []*v1beta1.ImagePullJob) error {
	client := r.kruise.AppsV1beta1().ImagePullJobs(list.Namespace)
	var removed atomic.Int32
	err := passes.Parallel(len(children), passes.Width, func(i int) error {
		// The tags of the child follow later: the controller of NodeImages removes tags whose owner is deleted.
		policy := metav1.DeletePropagationBackground
		err := client.Delete(ctx, children[i].Name,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &children[i].UID}, PropagationPolicy: &policy})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete ImagePullJob %s: %w", children[i].Name, err)
		}
		removed.Add(1)
		r.guard.Deleted(list.UID, jobs, children[i])
		return nil
	})
	if n := removed.Load(); n > 0 {
		r.recorder.Eventf(list, corev1.EventTypeNormal, "Successful delete ImagePullJob", "Delete %d ImagePullJob", n)
	}
	return err
}

// report writes the status if it differs.
func (r *Reconciler) report(ctx context.Context, list *v1beta1.ImageListPullJob, status v1beta1.ImageListPullJobStatus) error {
	return controller.ReplaceStatus(ctx, r.kruise.AppsV1beta1().ImageListPullJobs(list.Namespace), list,
		func(fresh *v1beta1.ImageListPullJob) { fresh.Status = status })
}

// finish deletes a finished list job, and with it its children, after its TTL. Later edits of the spec have no effect. The children
// have no TTL of their own, so they stay as long as the list job.
func (r *Reconciler) finish(ctx context.Context, list *v1beta1.ImageListPullJob) (reconcile.Result, error) {
	policy := &list.Spec.CompletionPolicy
	if policy.Type == v1beta1.CompletionPolicyNever {
		return reconcile.Result{}, nil
	}
	return controller.DeleteExpired(ctx, r.kruise.AppsV1beta1().ImageListPullJobs(list.Namespace), list,
		list.Status.CompletionTime, policy.TTLSecondsAfterFinished, r.clock.Now())
}
