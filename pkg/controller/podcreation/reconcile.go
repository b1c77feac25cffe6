package podcreation

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// Reconcile adds the label to a namespace while no SidecarSet selects Pods in it, and it has no PersistentPodState and no
// WorkloadSpread. It removes the label otherwise. The label excludes the namespace from the webhook, so a label too much costs
// Pods their changes, and a label too little costs only reviews. So it is added with care, and removed at once.
func (r *Reconciler) Reconcile(ctx context.Context, namespace *corev1.Namespace) (reconcile.Result, error) {
	if namespace.DeletionTimestamp != nil || !controller.SendsNewPods(namespace, r.Namespace) {
		return reconcile.Result{}, nil
	}
	value, used := pub.PodCreationIgnored, r.selected(namespace)
	if !used && namespace.Labels[pub.PodCreationKey] != value {
		// The caches may be older than an object whose creation did not wait, because the namespace had no label.
		var err error
		if used, err = r.selectedNow(ctx, namespace); err != nil {
			return reconcile.Result{}, err
		}
	}
	if used {
		value = ""
	}
	// The label of earlier releases is removed too.
	err := controller.LabelNamespace(ctx, r.kube, namespace, map[string]string{pub.PodCreationKey: value, pub.PodCreationKeyOld: ""})
	return reconcile.Result{}, err
}

// selected reports whether a SidecarSet selects Pods in the namespace, or a PersistentPodState or a WorkloadSpread may change
// them. An error counts as yes, which is the safe side.
func (r *Reconciler) selected(namespace *corev1.Namespace) bool {
	for _, objects := range r.ofNamespaces {
		if keys, err := objects.IndexKeys(cache.NamespaceIndex, namespace.Name); err != nil || len(keys) > 0 {
			return true
		}
	}
	for _, item := range r.sets.List() {
		if set, ok := item.(*v1beta1.SidecarSet); ok && sidecar.SelectsNamespace(set, namespace.Labels) {
			return true
		}
	}
	return false
}

// selectedNow is selected with what the server has now. It is only asked before the label is added, so it costs nothing while a
// namespace has the label.
func (r *Reconciler) selectedNow(ctx context.Context, namespace *corev1.Namespace) (bool, error) {
	states, err := r.live.PersistentPodStates(namespace.Name).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return false, fmt.Errorf("list PersistentPodStates: %w", err)
	}
	spreads, err := r.live.WorkloadSpreads(namespace.Name).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return false, fmt.Errorf("list WorkloadSpreads: %w", err)
	}
	sets, err := r.live.SidecarSets().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("list SidecarSets: %w", err)
	}
	return len(states.Items) > 0 || len(spreads.Items) > 0 || slices.ContainsFunc(sets.Items, func(set v1beta1.SidecarSet) bool {
		return sidecar.SelectsNamespace(&set, namespace.Labels)
	}), nil
}
