package podprobemarker

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/nodefit"
	"kruise.io/kruise/pkg/workload/podprobe"
	"kruise.io/kruise/pkg/workload/podstate"
)

// virtual reports whether a Pod is on a virtual node, whose provider runs the probes. A Pod without a node, or on a node that
// is not in the cache, is not.
func (r *Reconciler) virtual(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" || !podstate.Active(pod) {
		return false
	}
	node, err := r.nodes.Get(pod.Spec.NodeName)
	return err == nil && nodefit.Virtual(node)
}

// markersOf returns the PodProbeMarkers of a Pod on a virtual node: those that it was created with, or else those that select
// it. The provider only knows the probes that the Pod was created with.
func (r *Reconciler) markersOf(pod *corev1.Pod) (markers []*v1alpha1.PodProbeMarker) {
	names, named := podprobe.Named(pod)
	if !named {
		return r.selecting(pod)
	}
	for _, name := range names {
		if marker, err := r.markers.PodProbeMarkers(pod.Namespace).Get(name); err == nil {
			markers = append(markers, marker)
		}
	}
	return markers
}

// absent reconciles a Pod on a virtual node. The key of a deleted PodProbeMarker comes here too, and needs nothing. The Pod is
// read again, because it may have changed since the event.
func (r *Reconciler) absent(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	name, isPod := strings.CutPrefix(key.Name, podPrefix)
	if !isPod {
		return reconcile.Result{}, nil
	}
	pod, err := r.pods.Pods(key.Namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("get Pod: %w", err)
	}
	if !r.virtual(pod) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, r.mark(ctx, pod.UID, pod, r.markersOf(pod))
}

// mark sets the labels and annotations that the conditions of a Pod call for. owner is whose pass this is, for the guard. The
// UID of the Pod itself stands for the pass of a Pod, which the guard does not know: a write that is repeated there changes
// nothing.
func (r *Reconciler) mark(ctx context.Context, owner types.UID, pod *corev1.Pod, markers []*v1alpha1.PodProbeMarker) error {
	change := podprobe.MarksOfConditions(pod, markers)
	if change.Empty() {
		return nil
	}
	patch, err := change.Patch(pod)
	if err != nil {
		return err
	}
	written, err := controller.PatchPodStatus(ctx, r.kube, pod, patch)
	// A Pod that is gone needs no mark.
	if err != nil || written == nil {
		return err
	}
	if owner != pod.UID {
		r.guard.Wrote(owner, engine.PodResource.GroupResource(), written.ResourceVersion)
	}
	return nil
}
