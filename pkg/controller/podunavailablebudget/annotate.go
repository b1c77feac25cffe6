package podunavailablebudget

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/passes"
	"kruise.io/kruise/pkg/workload/podstate"
)

// annotate writes the name of the budget on each Pod that it governs. It corrects Pods that name this budget but have another
// one or none. kube-apiserver calls the webhook for deletions and updates only for Pods with the annotation. For a deleted
// budget, governed is nil, and only the Pods that still name it are corrected.
func (r *Reconciler) annotate(ctx context.Context, key types.NamespacedName, governed []*corev1.Pod) error {
	// wanted has each Pod once, by name: the Pods that this budget governs first, so the second list does not overrule them.
	wanted := map[string]string{}
	due := make([]*corev1.Pod, 0, len(governed))
	add := func(pod *corev1.Pod, budget string) {
		if _, known := wanted[pod.Name]; known {
			return
		}
		wanted[pod.Name] = budget
		if !names(pod, budget) {
			due = append(due, pod)
		}
	}
	for _, pod := range governed {
		add(pod, key.Name)
	}
	items, err := r.pods.ByIndex(hintIndex, key.String())
	if err != nil {
		return fmt.Errorf("list Pods by budget: %w", err)
	}
	for _, item := range items {
		if pod, ok := item.(*corev1.Pod); ok && podstate.Active(pod) {
			// Nearly all of these Pods are among the governed ones, and to look for the budget of a Pod is expensive.
			if _, known := wanted[pod.Name]; known {
				continue
			}
			budget := ""
			if governing := r.governing(pod); governing != nil {
				budget = governing.Name
			}
			// A terminating or finished Pod keeps what it has: nothing can disrupt it any more.
			add(pod, budget)
		}
	}
	return passes.Parallel(len(due), passes.Width, func(i int) error { return r.annotatePod(ctx, due[i], wanted[due[i].Name]) })
}

// names reports whether both annotations of the Pod name the budget. If budget is empty, both annotations must be absent. Both
// names of the annotation are kept, because clients of earlier releases read the older one.
func names(pod *corev1.Pod, budget string) bool {
	for _, key := range []string{pub.RelatedPubKey, pub.RelatedPubKeyNew} {
		if value, found := pod.Annotations[key]; value != budget || found != (budget != "") {
			return false
		}
	}
	return true
}

// annotatePod writes both annotations in one patch, or removes them if budget is empty. The UID in the patch protects a new Pod
// of the same name. A Pod that was deleted or replaced is no error: the event of a new one causes another count.
func (r *Reconciler) annotatePod(ctx context.Context, pod *corev1.Pod, budget string) error {
	// A nil value becomes null in the patch, which removes the annotation.
	var value any
	if budget != "" {
		value = budget
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]any{pub.RelatedPubKey: value, pub.RelatedPubKeyNew: value},
	}})
	if err != nil {
		return fmt.Errorf("encode annotations: %w", err)
	}
	_, err = r.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("annotate Pod %s: %w", pod.Name, err)
	}
	return nil
}

// labelNamespace keeps the label on a namespace while the namespace has a budget. kube-apiserver calls the webhook for
// evictions only in namespaces with the label, because an eviction contains only the name of its Pod. A terminating namespace
// is left alone.
func (r *Reconciler) labelNamespace(ctx context.Context, name string) error {
	namespace, err := r.namespaces.Get(name)
	if apierrors.IsNotFound(err) || err == nil && namespace.DeletionTimestamp != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get Namespace: %w", err)
	}
	budgets, err := r.budgets.IndexKeys(cache.NamespaceIndex, name)
	if err != nil {
		return fmt.Errorf("list budgets: %w", err)
	}
	value := ""
	if len(budgets) > 0 {
		value = "true"
	}
	return controller.LabelNamespace(ctx, r.kube, namespace, map[string]string{pub.BudgetNamespaceKey: value})
}
