package podcreation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// resting is for how long nothing must have changed the new Pods of a namespace before it gets the label. Users often create a
// namespace, a SidecarSet and Pods one right after the other, or replace a SidecarSet. The answer to the creation of the SidecarSet does
// not wait for a label that is added at the same moment, so without this pause the first Pods could miss the containers.
const resting = 30 * time.Second

// Reconcile adds the label to a namespace while no SidecarSet selects Pods in it, and it has no PersistentPodState and no
// WorkloadSpread. It removes the label otherwise. The label excludes the namespace from the webhook, so a label too much costs
// Pods their changes, and a label too little costs only reviews. So it is added with care, and removed at once.
func (r *Reconciler) Reconcile(ctx context.Context, namespace *corev1.Namespace) (reconcile.Result, error) {
	if namespace.DeletionTimestamp != nil || !controller.SendsNewPods(namespace, r.Namespace) {
		r.unused.forget(namespace.Name)
		return reconcile.Result{}, nil
	}
	value, used := pub.PodCreationIgnored, r.selected(namespace)
	if !used && namespace.Labels[pub.PodCreationKey] != value {
		now := r.clock.Now()
		if rest := r.unused.since(namespace, now).Add(resting).Sub(now); rest > 0 {
			return reconcile.Result{RequeueAfter: rest}, nil
		}
		// The caches may be older than an object whose creation did not wait, because the namespace had no label.
		var err error
		if used, err = r.selectedNow(ctx, namespace); err != nil {
			return reconcile.Result{}, err
		}
	}
	r.unused.forget(namespace.Name)
	if used {
		// The label of earlier releases is removed too.
		none := map[string]string{pub.PodCreationKey: "", pub.PodCreationKeyOld: ""}
		return reconcile.Result{}, controller.LabelNamespace(ctx, r.kube, namespace, none)
	}
	return reconcile.Result{}, r.ignore(ctx, namespace)
}

// ignore adds the label. The write is refused with a conflict if the namespace has changed since it was checked: other labels may make a
// SidecarSet select it.
func (r *Reconciler) ignore(ctx context.Context, namespace *corev1.Namespace) error {
	_, old := namespace.Labels[pub.PodCreationKeyOld]
	if namespace.Labels[pub.PodCreationKey] == pub.PodCreationIgnored && !old {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": namespace.ResourceVersion,
		"labels":          map[string]any{pub.PodCreationKey: pub.PodCreationIgnored, pub.PodCreationKeyOld: nil},
	}})
	if err != nil {
		return fmt.Errorf("encode labels: %w", err)
	}
	_, err = r.kube.CoreV1().Namespaces().Patch(ctx, namespace.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("label Namespace: %w", err)
	}
	return nil
}

// times are since when namespaces have been without what changes their new Pods. Those that have the label, or need none, are not in it.
type times struct {
	lock sync.Mutex
	of   map[string]unusedNamespace
}

// unusedNamespace has a UID, because a namespace may be deleted without a reconcile, and created again under its name.
type unusedNamespace struct {
	uid   types.UID
	since time.Time
}

// since returns the first time for which it was called for a namespace, which is now for the first call.
func (t *times) since(namespace *corev1.Namespace, now time.Time) time.Time {
	t.lock.Lock()
	defer t.lock.Unlock()
	if known, ok := t.of[namespace.Name]; ok && known.uid == namespace.UID {
		return known.since
	}
	t.of[namespace.Name] = unusedNamespace{namespace.UID, now}
	return now
}

func (t *times) forget(namespace string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	delete(t.of, namespace)
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
