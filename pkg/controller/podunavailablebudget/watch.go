package podunavailablebudget

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
)

// itsNamespace returns a key without a name, for the budget's namespace. The budget may be the first or the last of that
// namespace.
func itsNamespace(obj metav1.Object) []types.NamespacedName {
	return []types.NamespacedName{{Namespace: obj.GetNamespace()}}
}

// namespaceItself returns the same key for a namespace.
func namespaceItself(obj metav1.Object) []types.NamespacedName {
	return []types.NamespacedName{{Namespace: obj.GetName()}}
}

// labelChanged limits the watch of namespaces to the label that this controller writes. If another client removes it, it is
// written again.
func labelChanged(before, after metav1.Object) bool {
	return before.GetLabels()[pub.BudgetNamespaceKey] != after.GetLabels()[pub.BudgetNamespaceKey]
}

// rivals returns the other budgets that also match the Pods of a budget. When the budget is created or deleted, Pods move
// between it and them, so each of them is counted again.
func (r *Reconciler) rivals(obj metav1.Object) (keys []types.NamespacedName) {
	budget, ok := obj.(*v1beta1.PodUnavailableBudget)
	if !ok {
		return nil
	}
	// The same key may come several times; the queue holds it once.
	for _, pod := range r.claimed(budget) {
		matching, err := disruption.Matching(r.budgets, pod.Namespace, pod.Labels, r.workloads.above(pod))
		if err != nil {
			continue
		}
		for _, rival := range matching {
			if rival.Name != budget.Name {
				keys = append(keys, types.NamespacedName{Namespace: rival.Namespace, Name: rival.Name})
			}
		}
	}
	return keys
}

// governingPod returns the budget that governs a Pod, unless the Pod already names it, and the budget that the Pod names. If
// they differ, both are counted: one gains the Pod and one loses it.
func (r *Reconciler) governingPod(obj metav1.Object) (keys []types.NamespacedName) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	// The hint can name a budget that does not exist any more. absent then corrects the Pod.
	hint := disruption.Hinted(pod.Annotations)
	if budget := r.governing(pod); budget != nil && budget.Name != hint {
		keys = append(keys, types.NamespacedName{Namespace: pod.Namespace, Name: budget.Name})
	}
	if hint != "" {
		keys = append(keys, types.NamespacedName{Namespace: pod.Namespace, Name: hint})
	}
	return keys
}

// governingWorkload returns the budget that targets the workload or its controller, or selects the Pods of its template. It does not
// read the Pods of the workload: they cause events of their own. The workload adds the replicas, and the controller above it.
func (r *Reconciler) governingWorkload(obj metav1.Object) []types.NamespacedName {
	workload, template, known := identify(obj)
	if !known {
		return nil
	}
	chain := []disruption.Workload{workload}
	// The Pods of a Deployment name its ReplicaSets, so a controller of the Deployment governs none of them.
	if above, ref := disruption.ControllerOf(obj); ref != nil && kinds.Of(workload.GroupKind).OwnsPods {
		chain = append(chain, above)
	}
	budget, err := disruption.Governing(r.budgets, obj.GetNamespace(), template, chain)
	if err != nil || budget == nil {
		return nil
	}
	return []types.NamespacedName{{Namespace: budget.Namespace, Name: budget.Name}}
}

// resized reports whether a change of a workload may change the replicas that a budget counts from, or the Pods that it finds. The
// Pods of a ReplicaSet that is adopted do not change themselves.
func resized(before, after metav1.Object) bool {
	return !ptr.Equal(replicasOf(before), replicasOf(after)) || !controller.SameController(before, after) ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil)
}

// worthACount reports whether a change of a Pod may change what its budget allows, or which budget governs it.
func worthACount(before, after metav1.Object) bool {
	b, ok := before.(*corev1.Pod)
	a, okAfter := after.(*corev1.Pod)
	return ok && okAfter && (podstate.Active(b) != podstate.Active(a) || disruption.Available(b) != disruption.Available(a) ||
		!maps.Equal(b.Labels, a.Labels) || disruption.Hinted(b.Annotations) != disruption.Hinted(a.Annotations) ||
		!apiequality.Semantic.DeepEqual(b.OwnerReferences, a.OwnerReferences))
}
