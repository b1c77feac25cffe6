package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/imagepull"
)

// Reconcile creates the NodeImage of a node, deletes it with the node, and cleans it meanwhile.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	node, err := r.nodes.Get(key.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return controller.Result{}, fmt.Errorf("get Node: %w", err)
	}
	image, err := r.images.Get(key.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return controller.Result{}, fmt.Errorf("get NodeImage: %w", err)
	}
	switch {
	case image == nil && present(node):
		return r.create(ctx, node)
	case image == nil:
		return controller.Result{}, nil
	case !present(node) && !fake(image):
		return controller.Result{}, r.remove(ctx, image)
	default:
		return r.sync(ctx, node, image)
	}
}

func (r *Reconciler) create(ctx context.Context, node *corev1.Node) (controller.Result, error) {
	due, ready := readyIn(node, r.delay, r.clock.Now())
	if !ready {
		return controller.Result{}, nil
	}
	if due > 0 {
		return controller.Result{RequeueAfter: due}, nil
	}
	klog.FromContext(ctx).V(2).Info("Creating NodeImage")
	_, err := r.kruise.AppsV1beta1().NodeImages().Create(ctx, &v1beta1.NodeImage{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: maps.Clone(node.Labels)},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return controller.Result{}, fmt.Errorf("create NodeImage: %w", err)
	}
	return controller.Result{}, nil
}

func (r *Reconciler) remove(ctx context.Context, image *v1beta1.NodeImage) error {
	if image.DeletionTimestamp != nil {
		return nil
	}
	klog.FromContext(ctx).V(2).Info("Deleting NodeImage: its node is gone")
	err := r.kruise.AppsV1beta1().NodeImages().Delete(ctx, image.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &image.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete NodeImage: %w", err)
	}
	return nil
}

// sync writes the spec if it changes, and else the status: what the status must say follows from the spec that is stored.
func (r *Reconciler) sync(ctx context.Context, node *corev1.Node, image *v1beta1.NodeImage) (controller.Result, error) {
	now := r.clock.Now()
	after := image.DeepCopy()
	if present(node) {
		after.Labels = maps.Clone(node.Labels)
	}
	owners := &owners{reconciler: r, ctx: ctx, asked: map[types.UID]standing{}}
	cleaner := &cleaner{now: now, owner: owners.standing, withdrawn: owners.withdrawn}
	recheck := cleaner.clean(after)
	if !apiequality.Semantic.DeepEqual(image.Spec, after.Spec) || !maps.Equal(image.Labels, after.Labels) {
		_, err := r.kruise.AppsV1beta1().NodeImages().Update(ctx, after, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			err = fmt.Errorf("update NodeImage: %w", err)
		}
		return controller.Result{}, errors.Join(owners.err, err)
	}
	status, failures, expires := report(image, now)
	if err := r.write(ctx, image, status, failures); err != nil {
		return controller.Result{}, errors.Join(owners.err, err)
	}
	return controller.Result{RequeueAfter: spread(sooner(recheck, expires))}, owners.err
}

func (r *Reconciler) write(ctx context.Context, image *v1beta1.NodeImage, status v1beta1.NodeImageStatus, failures []failure) error {
	if apiequality.Semantic.DeepEqual(image.Status, status) {
		return nil
	}
	report := image.DeepCopy()
	report.Status = status
	if _, err := r.kruise.AppsV1beta1().NodeImages().UpdateStatus(ctx, report, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	for _, f := range failures {
		text := fmt.Sprintf("Failed to pull image %s on node %s for %s", f.ref.Name+":"+f.ref.Tag, image.Name, f.message)
		for i := range f.owners {
			r.recorder.Event(&f.owners[i], corev1.EventTypeWarning, "PullImageFailed", text)
		}
		r.recorder.Event(image, corev1.EventTypeWarning, "PullImageFailed", text)
	}
	return nil
}

// spread keeps many NodeImages that are due at about the same time apart.
func spread(recheck time.Duration) time.Duration {
	const least, wider = 3 * time.Second, 2.0 / 3
	if recheck <= 0 || recheck >= least {
		return recheck
	}
	return wait.Jitter(least, wider)
}

// owners looks up what a cleaner asks, once each, and remembers what went wrong: then the tag stays as it is.
type owners struct {
	reconciler *Reconciler
	ctx        context.Context
	asked      map[types.UID]standing
	err        error
}

func (o *owners) standing(ref *corev1.ObjectReference) standing {
	if !imagepull.IsJob(ref) {
		return there
	}
	known, found := o.asked[ref.UID]
	if !found {
		known = o.look(ref)
		o.asked[ref.UID] = known
	}
	return known
}

func (o *owners) look(ref *corev1.ObjectReference) standing {
	r := o.reconciler
	if _, found := r.gone.Get(ref.UID); found {
		return gone
	}
	job, err := r.jobs.ImagePullJobs(ref.Namespace).Get(ref.Name)
	if err != nil || job.UID != ref.UID {
		// Another replica may have made this owner a moment ago, so a cache is no proof.
		job, err = r.kruise.AppsV1beta1().ImagePullJobs(ref.Namespace).Get(o.ctx, ref.Name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err) || err == nil && job.UID != ref.UID:
		r.gone.Add(ref.UID, nil)
		return gone
	case err != nil:
		o.err = errors.Join(o.err, fmt.Errorf("get ImagePullJob %s/%s: %w", ref.Namespace, ref.Name, err))
		return there
	case running(job) && job.Spec.CompletionPolicy.Type != v1beta1.CompletionPolicyNever:
		return counting
	default:
		return there
	}
}

func (o *owners) withdrawn(ref *v1beta1.ReferenceObject) bool {
	_, err := o.reconciler.kube.CoreV1().Secrets(ref.Namespace).Get(o.ctx, ref.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		o.err = errors.Join(o.err, fmt.Errorf("get Secret %s/%s: %w", ref.Namespace, ref.Name, err))
	}
	return apierrors.IsNotFound(err)
}
