package jobsidecarterminator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/nodefit"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// Reasons of events.
const (
	reasonEnding = "SidecarTerminator"
	reasonFailed = "FailedSidecarTermination"
)

// Reconcile makes the next step for one Pod. The order of the groups matters. Sidecars whose exit code counts end first. Then the Pod
// gets its final phase, so that the exit codes of the others cannot change it.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	sidecars := sidecarsOf(pod)
	done, succeeded := mainsDone(pod)
	// The next change of the Pod is an event, so no pass needs to be repeated here.
	if !done || pod.Status.Phase == corev1.PodPending || finished(pod) || len(left(sidecars)) == 0 {
		return reconcile.Result{}, nil
	}
	node, err := r.nodes.Get(pod.Spec.NodeName)
	if err != nil {
		// The Pod of a deleted node is deleted soon. Until then, a new node may still be unknown.
		return reconcile.Result{}, fmt.Errorf("get Node of Pod: %w", err)
	}
	g := groupsOf(sidecars, nodefit.Virtual(node))
	// Each pass makes one step. What the kubelet then does changes the Pod, and that event causes the next pass.
	if running := left(g.inPlace); len(running) > 0 {
		return reconcile.Result{}, r.replaceImages(ctx, pod, running)
	}
	if running := left(g.kill); len(running) > 0 {
		return r.stop(ctx, pod, running)
	}
	// Sidecars whose exit codes count have all ended here, so the phase is known.
	running := left(g.ignored)
	if len(running) == 0 {
		return reconcile.Result{}, nil
	}
	// The phase comes before the request. If a sidecar ended first, its exit code could decide the phase.
	if err := r.finish(ctx, pod, succeeded); err != nil {
		return reconcile.Result{}, err
	}
	return r.stop(ctx, pod, running)
}

// replaceImages gives sidecars the image that ends at once. A second pass finds the images replaced and writes nothing.
func (r *Reconciler) replaceImages(ctx context.Context, pod *corev1.Pod, sidecars []sidecar) error {
	after := pod.DeepCopy()
	var replaced []string
	for i := range after.Spec.Containers {
		container := &after.Spec.Containers[i]
		for _, s := range sidecars {
			// A sidecar that has the image already only has not ended yet.
			if s.container.Name == container.Name && container.Image != s.image {
				container.Image = s.image
				replaced = append(replaced, container.Name)
			}
		}
	}
	if len(replaced) == 0 {
		return nil
	}
	patch, err := podcontrol.Patch(pod, after, false)
	if err != nil {
		return err
	}
	patched, err := r.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil // The Pod is gone.
	case err != nil:
		r.recorder.Eventf(pod, corev1.EventTypeWarning, reasonFailed, "cannot replace the images of sidecars %v: %v", replaced, err)
		return fmt.Errorf("replace images of Pod: %w", err)
	}
	r.guard.Wrote(pod.UID, podResource.GroupResource(), patched.ResourceVersion)
	klog.FromContext(ctx).V(2).Info("Replaced the images of sidecars", "containers", replaced)
	r.recorder.Eventf(pod, corev1.EventTypeNormal, reasonEnding,
		"Kruise SidecarTerminator is trying to terminate sidecar %v using in-place update", replaced)
	return nil
}

// finish sets the final phase of a Pod in which only sidecars run whose exit code is ignored. The kubelet keeps a final phase, and
// stops the containers that are left. Without this write, the kubelet would compute the phase from all exit codes.
func (r *Reconciler) finish(ctx context.Context, pod *corev1.Pod, succeeded bool) error {
	// An earlier pass has written it. Only the request is missing.
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	after := pod.DeepCopy()
	// The exit codes of the main containers decide.
	after.Status.Phase = corev1.PodFailed
	if succeeded {
		after.Status.Phase = corev1.PodSucceeded
	}
	// The condition tells finished, and admission of the request, that this controller set the phase.
	after.Status.Conditions = append(after.Status.Conditions, corev1.PodCondition{
		Type: pub.SidecarTerminatedConditionType, Status: corev1.ConditionTrue, Message: "Terminated by Sidecar Terminator",
		LastTransitionTime: metav1.NewTime(r.clock.Now()),
	})
	// The Pod may have got a final phase meanwhile, for example because it was evicted. The patch then fails, and the next pass sees it.
	patch, err := podcontrol.Patch(pod, after, true)
	if err != nil {
		return err
	}
	patched, err := r.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{},
		"status")
	if err != nil {
		return fmt.Errorf("set the final phase of Pod: %w", err)
	}
	r.guard.Wrote(pod.UID, podResource.GroupResource(), patched.ResourceVersion)
	klog.FromContext(ctx).V(2).Info("Set the final phase", "phase", after.Status.Phase)
	return nil
}
