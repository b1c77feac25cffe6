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
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/imagetag"
)

// nodeKey is the annotation with the UID of the node. A node that was created again under its name may be another machine.
const nodeKey = "kruise.io/node-uid"

// Reconcile cleans a NodeImage, and deletes it if its node was deleted. A NodeImage with the label for made-up ones needs no
// node.
func (r *Reconciler) Reconcile(ctx context.Context, image *v1beta1.NodeImage) (reconcile.Result, error) {
	node, err := r.node(image.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !fake(image) && (!present(node) || ofFormerNode(image, node)) {
		return reconcile.Result{}, r.remove(ctx, image)
	}
	return r.sync(ctx, node, image)
}

// ofFormerNode reports whether a NodeImage belongs to a deleted node that had the name of this one. Its reports are about that machine.
func ofFormerNode(image *v1beta1.NodeImage, node *corev1.Node) bool {
	known := image.Annotations[nodeKey]
	return known != "" && known != string(node.UID)
}

// withNode returns the annotations and the UID of a node. The given map stays as it is.
func withNode(annotations map[string]string, node *corev1.Node) map[string]string {
	if node.UID == "" {
		return annotations
	}
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[nodeKey] = string(node.UID)
	return annotations
}

// node returns the node with the name, or nil without an error if there is none.
func (r *Reconciler) node(name string) (*corev1.Node, error) {
	node, err := r.nodes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, fmt.Errorf("get Node: %w", err)
	}
	return node, nil
}

// create creates the NodeImage of a node, when the node has been ready for the delay. If the node is not ready, its next change
// starts another attempt. A NodeImage that exists already, because the cache is old, is no error.
func (r *Reconciler) create(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	node, err := r.node(key.Name)
	if err != nil || !present(node) {
		return reconcile.Result{}, err
	}
	due, ready := readyIn(node, r.delay, r.clock.Now())
	if !ready {
		return reconcile.Result{}, nil
	}
	if due > 0 {
		return reconcile.Result{RequeueAfter: due}, nil
	}
	klog.FromContext(ctx).V(2).Info("Creating NodeImage")
	_, err = r.kruise.AppsV1beta1().NodeImages().Create(ctx, &v1beta1.NodeImage{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: maps.Clone(node.Labels), Annotations: withNode(nil, node)},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return reconcile.Result{}, fmt.Errorf("create NodeImage: %w", err)
	}
	return reconcile.Result{}, nil
}

// remove deletes the NodeImage of a deleted node. The UID protects the NodeImage of a new node with the same name.
func (r *Reconciler) remove(ctx context.Context, image *v1beta1.NodeImage) error {
	if image.DeletionTimestamp != nil {
		return nil
	}
	klog.FromContext(ctx).V(2).Info("Deleting NodeImage, because its node does not exist")
	err := r.kruise.AppsV1beta1().NodeImages().Delete(ctx, image.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &image.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete NodeImage: %w", err)
	}
	return nil
}

// sync writes the spec if it changes. Otherwise it writes the status, because the status depends on the stored spec. The event
// of the write of the spec starts the pass that writes the status. A conflict is an error, and the retry decides again.
func (r *Reconciler) sync(ctx context.Context, node *corev1.Node, image *v1beta1.NodeImage) (reconcile.Result, error) {
	now := r.clock.Now()
	after := image.DeepCopy()
	// A made-up NodeImage keeps its own labels.
	if present(node) {
		after.Labels = maps.Clone(node.Labels)
	}
	// Older releases created NodeImages without the annotation. They get it with their next change.
	if present(node) && !fake(image) {
		after.Annotations = withNode(after.Annotations, node)
	}
	owners := &owners{reconciler: r, ctx: ctx, asked: map[types.UID]ownerState{}}
	cleaner := &cleaner{now: now, owner: owners.state, withdrawn: owners.withdrawn}
	recheck := cleaner.clean(after)
	if !apiequality.Semantic.DeepEqual(image.Spec, after.Spec) || !maps.Equal(image.Labels, after.Labels) {
		_, err := r.kruise.AppsV1beta1().NodeImages().Update(ctx, after, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			err = fmt.Errorf("update NodeImage: %w", err)
		}
		return reconcile.Result{}, errors.Join(owners.err, err)
	}
	expires, err := r.report(ctx, image, notReadySince(node), now)
	if err != nil {
		return reconcile.Result{}, errors.Join(owners.err, err)
	}
	return reconcile.Result{RequeueAfter: spread(delay.Sooner(recheck, expires))}, owners.err
}

// report writes the status, and sends events for the pulls that it marked as failed, to the jobs and to the NodeImage. It
// returns the delay until the next pull may be overdue. The events follow the write, so a conflict does not repeat them.
func (r *Reconciler) report(
	ctx context.Context, image *v1beta1.NodeImage, notReady *time.Time, now time.Time,
) (expires time.Duration, err error) {
	var failures []failure
	stored, err := controller.UpdateStatus(ctx, r.kruise.AppsV1beta1().NodeImages(), image, func(fresh *v1beta1.NodeImage) error {
		// After a conflict, the report of the agent is taken into account.
		fresh.Status, failures, expires = report(fresh, notReady, now)
		return nil
	})
	if err != nil || stored == nil {
		return 0, err
	}
	for _, f := range failures {
		text := fmt.Sprintf("Failed to pull image %s on node %s for %s", f.ref.Name+":"+f.ref.Tag, image.Name, f.message)
		for i := range f.owners {
			r.recorder.Event(&f.owners[i], corev1.EventTypeWarning, "PullImageFailed", text)
		}
		r.recorder.Event(image, corev1.EventTypeWarning, "PullImageFailed", text)
	}
	return expires, nil
}

// spread adds jitter to short delays, so that many NodeImages are not due at the same time. A delay below 3 seconds becomes 3
// to 5 seconds. Zero means never, and stays zero.
func spread(recheck time.Duration) time.Duration {
	const least, wider = 3 * time.Second, 2.0 / 3
	if recheck <= 0 || recheck >= least {
		return recheck
	}
	return wait.Jitter(least, wider)
}

// owners looks up the owners for a cleaner, once each. It collects errors; a tag whose owner cannot be read is kept. It lives
// for one pass and is used by one goroutine.
type owners struct {
	reconciler *Reconciler
	ctx        context.Context
	asked      map[types.UID]ownerState
	err        error
}

// state returns the state of an owner. Owners of other kinds than ImagePullJob are not looked up, and keep their tags.
func (o *owners) state(ref *corev1.ObjectReference) ownerState {
	if !imagetag.IsJob(ref) {
		return ownerPresent
	}
	known, found := o.asked[ref.UID]
	if !found {
		known = o.look(ref)
		o.asked[ref.UID] = known
	}
	return known
}

// look finds out the state of a job. Jobs in r.gone cost no request.
func (o *owners) look(ref *corev1.ObjectReference) ownerState {
	r := o.reconciler
	if _, found := r.gone.Get(ref.UID); found {
		return ownerDeleted
	}
	job, err := r.jobs.ImagePullJobs(ref.Namespace).Get(ref.Name)
	if err != nil || job.UID != ref.UID {
		// Another replica may have created this owner just now, so a missing cache entry proves nothing.
		job, err = r.kruise.AppsV1beta1().ImagePullJobs(ref.Namespace).Get(o.ctx, ref.Name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err) || err == nil && job.UID != ref.UID:
		r.gone.Add(ref.UID, nil)
		return ownerDeleted
	case err != nil:
		o.err = errors.Join(o.err, fmt.Errorf("get ImagePullJob %s/%s: %w", ref.Namespace, ref.Name, err))
		return ownerPresent
	case active(job):
		return ownerActive
	default:
		return ownerPresent
	}
}

// withdrawn reports whether a Secret does not exist on the API server. An error is collected, and the reference stays.
func (o *owners) withdrawn(ref *v1beta1.ReferenceObject) bool {
	_, err := o.reconciler.kube.CoreV1().Secrets(ref.Namespace).Get(o.ctx, ref.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		o.err = errors.Join(o.err, fmt.Errorf("get Secret %s/%s: %w", ref.Namespace, ref.Name, err))
	}
	return apierrors.IsNotFound(err)
}
