package podprobemarker

import (
	"context"
	"encoding/json"
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

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/nodefit"
	"kruise.io/kruise/pkg/workload/podprobe"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

const (
	// finalizer keeps a PodProbeMarker until no NodePodProbe has its probes. Its name is part of the contract.
	finalizer = pub.NodePodProbeCleanupFinalizer
	// recheck is the delay before a PodProbeMarker is compared with its NodePodProbes again, if no event comes first.
	recheck = 5 * time.Second
	// settle is how long a deleted PodProbeMarker stays at least, if it was ever used. A write that began before the deletion was
	// known has ended then.
	settle = time.Second
)

// Reconcile sets the finalizer, and writes the status when the nodes show this generation. The finalizer comes first, so that
// nodes never have probes of a PodProbeMarker without it. A new generation never waits for the pace.
func (r *Reconciler) Reconcile(ctx context.Context, marker *v1alpha1.PodProbeMarker) (reconcile.Result, error) {
	if marker.DeletionTimestamp != nil {
		return r.release(ctx, marker)
	}
	if !slices.Contains(marker.Finalizers, finalizer) {
		return reconcile.Result{}, r.setFinalizers(ctx, marker, append(slices.Clone(marker.Finalizers), finalizer))
	}
	urgent := marker.Status.ObservedGeneration != marker.Generation
	// The Pods are listed after the pause only. The status counts those of the last pass, which is exact enough for a delay.
	if wait := r.pace.PassIn(marker.UID, int(marker.Status.MatchedPods)); wait > 0 && !urgent {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	pods, err := r.selected(marker.Namespace, selectorindex.Parse(marker.Spec.Selector))
	if err != nil {
		return reconcile.Result{}, err
	}
	defer r.pace.Passed(marker.UID, len(pods))
	matched, pending, failed := r.compare(ctx, marker, pods)
	result, err := r.publish(ctx, marker, matched, pending, len(pods))
	return result, errors.Join(failed, err)
}

// publish writes the status, unless the pace asks to wait.
func (r *Reconciler) publish(
	ctx context.Context, marker *v1alpha1.PodProbeMarker, matched int64, pending bool, pods int,
) (reconcile.Result, error) {
	urgent := marker.Status.ObservedGeneration != marker.Generation
	// matchedPods is written at once, and observedGeneration only when the nodes show the generation.
	observed := marker.Generation
	if pending {
		observed = marker.Status.ObservedGeneration
	}
	// Only a change of the count alone waits. report writes nothing if nothing changed.
	if wait := r.pace.ReportIn(marker.UID, pods, urgent); wait > 0 && matched != marker.Status.MatchedPods {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if err := r.report(ctx, marker, observed, matched); err != nil {
		return reconcile.Result{}, err
	}
	r.pace.Reported(marker.UID, pods)
	if pending {
		return reconcile.Result{RequeueAfter: recheck}, nil
	}
	return reconcile.Result{}, nil
}

// compare counts the Pods that are probed. pending is true if a NodePodProbe does not show this generation yet. It also marks
// Pods on virtual nodes, because a change of the PodProbeMarker is no event of the Pods. Errors of marks are joined, and do not
// change the counts.
func (r *Reconciler) compare(ctx context.Context, marker *v1alpha1.PodProbeMarker, pods []*corev1.Pod) (
	matched int64, pending bool, err error,
) {
	var errs []error
	for _, pod := range pods {
		// Pods that no agent probes do not count.
		if !podprobe.OnNode(pod) {
			continue
		}
		node, err := r.nodes.Get(pod.Spec.NodeName)
		if err != nil {
			continue // The cache has no other error than NotFound.
		}
		virtual := nodefit.Virtual(node)
		// The provider does not know a PodProbeMarker that is newer than the Pod.
		if virtual && r.serverless && !podprobe.Concerns(marker, pod) {
			continue
		}
		matched++
		switch {
		case !virtual:
			pending = pending || !r.shows(marker, pod)
		case r.serverless:
			errs = append(errs, r.mark(ctx, marker.UID, pod, []*v1alpha1.PodProbeMarker{marker}))
		}
	}
	return matched, pending, errors.Join(errs...)
}

// shows reports whether the NodePodProbe of the Pod's node has the probes of this generation. A node without a NodePodProbe
// gets them when it is created, and a node that has no room for them never gets them. Neither may hold up the status.
func (r *Reconciler) shows(marker *v1alpha1.PodProbeMarker, pod *corev1.Pod) bool {
	item, found, _ := r.nodePodProbes.GetByKey(pod.Spec.NodeName) // The indexer cannot fail.
	object, ok := item.(*v1alpha1.NodePodProbe)
	if !found || !ok {
		return true
	}
	// The entry of this marker alone, to compare it with its part of the stored entry.
	wanted := podprobe.Entry(pod, []*v1alpha1.PodProbeMarker{marker})
	var listed []v1alpha1.ContainerProbe
	for i := range object.Spec.PodProbes {
		if entry := &object.Spec.PodProbes[i]; entry.UID == string(pod.UID) {
			listed = podprobe.Of(entry, marker.Name)
		}
	}
	return apiequality.Semantic.DeepEqual(wanted.Probes, listed) ||
		len(listed) < len(wanted.Probes) && podprobe.Full(object, &wanted)
}

// report writes the status. The observed generation never decreases: after a conflict, fresh can be newer. A PodProbeMarker
// that was deleted is no error.
func (r *Reconciler) report(ctx context.Context, marker *v1alpha1.PodProbeMarker, observed, matched int64) error {
	stored, err := controller.UpdateStatus(ctx, r.kruise.AppsV1alpha1().PodProbeMarkers(marker.Namespace), marker,
		func(fresh *v1alpha1.PodProbeMarker) error {
			fresh.Status.ObservedGeneration = max(fresh.Status.ObservedGeneration, observed)
			fresh.Status.MatchedPods = matched
			return nil
		})
	if err != nil || stored == nil {
		return err
	}
	if stored.ResourceVersion != marker.ResourceVersion {
		r.guard.Wrote(marker.UID, resource.GroupResource(), stored.ResourceVersion)
	}
	return nil
}

// release removes the finalizer when no NodePodProbe has probes of the PodProbeMarker, and settle is over. Other finalizers
// stay.
func (r *Reconciler) release(ctx context.Context, marker *v1alpha1.PodProbeMarker) (reconcile.Result, error) {
	index := slices.Index(marker.Finalizers, finalizer)
	// Another controller may still hold the object by a finalizer of its own.
	if index < 0 {
		return reconcile.Result{}, nil
	}
	names, err := r.nodePodProbes.IndexKeys(podprobe.MarkerIndex, podprobe.MarkerKey(marker.Namespace, marker.Name))
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("list NodePodProbes: %w", err)
	}
	// The event of the NodePodProbe that loses its last probes usually comes first.
	if len(names) > 0 {
		return reconcile.Result{RequeueAfter: recheck}, nil
	}
	// Without an observed generation, no node ever had probes of it.
	if wait := settle - r.clock.Since(marker.DeletionTimestamp.Time); wait > 0 && marker.Status.ObservedGeneration > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	klog.FromContext(ctx).V(2).Info("No node has probes of this PodProbeMarker, removing the finalizer")
	return reconcile.Result{}, r.setFinalizers(ctx, marker, slices.Delete(slices.Clone(marker.Finalizers), index, index+1))
}

// setFinalizers replaces the list of finalizers. The resource version makes the patch fail if another client has changed the
// list since.
func (r *Reconciler) setFinalizers(ctx context.Context, marker *v1alpha1.PodProbeMarker, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": marker.UID, "resourceVersion": marker.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return fmt.Errorf("encode finalizers: %w", err)
	}
	stored, err := r.kruise.AppsV1alpha1().PodProbeMarkers(marker.Namespace).Patch(ctx, marker.Name, types.MergePatchType, patch,
		metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("set finalizers: %w", err)
	}
	r.guard.Wrote(marker.UID, resource.GroupResource(), stored.ResourceVersion)
	return nil
}
