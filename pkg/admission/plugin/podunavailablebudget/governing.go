package podunavailablebudget

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/workload/disruption"
)

// governs returns true if the namespace has a budget. Most namespaces have none, and their Pods cost no further look.
// A failed lookup counts as a budget, so the request goes on and reports the error.
func (p *Plugin) governs(namespace string) bool {
	keys, err := p.known.IndexKeys(cache.NamespaceIndex, namespace)
	return err != nil || len(keys) > 0
}

// governing returns the budget that governs a Pod. It returns nil if no budget exists, or if the owner of the Pod or its
// namespace is being deleted.
func (p *Plugin) governing(ctx context.Context, pod *corev1.Pod) (*v1beta1.PodUnavailableBudget, error) {
	// In a terminating namespace, every Pod will be deleted, so a refusal would only delay the deletion of the
	// namespace.
	if !p.governs(pod.Namespace) || p.terminating(pod.Namespace) {
		return nil, nil
	}
	var controllers []disruption.Workload
	first, ref := disruption.ControllerOf(pod)
	if ref != nil {
		controllers = []disruption.Workload{first}
	}
	direct, err := disruption.Governing(p.known, pod.Namespace, pod.Labels, controllers)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	others := p.otherTargets(pod.Namespace, first)
	// No budget can apply, whatever stands above the controller.
	if direct == nil && len(others) == 0 {
		return nil, nil
	}
	workloads, orphaned, err := p.workloadsOf(ctx, pod)
	if err != nil {
		return p.withoutOwner(pod, first.GroupKind, direct, others, err)
	}
	// The Pod will be deleted by garbage collection whatever the budget says.
	if orphaned {
		return nil, nil
	}
	// A budget that targets a workload of the Pod comes before one that selects its labels.
	budget, err := disruption.Governing(p.known, pod.Namespace, pod.Labels, workloads)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if budget == nil {
		return p.hinted(pod), nil
	}
	return budget, nil
}

// otherTargets returns the targets of the budgets of a namespace, except one workload.
func (p *Plugin) otherTargets(namespace string, except disruption.Workload) (targets []disruption.Workload) {
	items, _ := p.known.ByIndex(cache.NamespaceIndex, namespace) // It fails only if the index is missing.
	for _, item := range items {
		budget, ok := item.(*v1beta1.PodUnavailableBudget)
		if !ok {
			continue
		}
		if target, found := disruption.TargetOf(budget); found && target != except {
			targets = append(targets, target)
		}
	}
	return targets
}

// withoutOwner decides for a Pod whose controller cannot be read, for example because the server of its kind is down. That must not
// refuse the disruptions of Pods that no budget can govern. direct is the budget of the Pod's controller or labels: it decides, as if the
// controller existed. Next is the budget that the Pod names. Otherwise, the error counts only if one of the other targets can control
// the controller, which is of the given kind.
func (p *Plugin) withoutOwner(
	pod *corev1.Pod, kind schema.GroupKind, direct *v1beta1.PodUnavailableBudget, others []disruption.Workload, unread error,
) (*v1beta1.PodUnavailableBudget, error) {
	if direct != nil {
		return direct, nil
	}
	if named := p.named(pod); named != nil && named.Spec.TargetRef != nil {
		return named, nil
	}
	if slices.ContainsFunc(others, func(target disruption.Workload) bool { return disruption.MayControl(target.GroupKind, kind) }) {
		return nil, apierrors.NewInternalError(fmt.Errorf("look up the owners of Pod %s/%s: %w", pod.Namespace, pod.Name, unread))
	}
	return nil, nil
}

// hinted returns the budget in the annotation of the Pod. It accepts only budgets whose target selects Pods through
// the scale subresource without owning them. Only the controller reads that subresource and sets the annotation. All
// other budgets are found without it.
func (p *Plugin) hinted(pod *corev1.Pod) *v1beta1.PodUnavailableBudget {
	if budget := p.named(pod); budget != nil && disruption.FoundByScale(budget) {
		return budget
	}
	return nil
}

// named returns the budget in the annotation of the Pod, or nil.
func (p *Plugin) named(pod *corev1.Pod) *v1beta1.PodUnavailableBudget {
	item, _, _ := p.known.GetByKey(pod.Namespace + "/" + disruption.Hinted(pod.Annotations)) // It cannot fail.
	budget, _ := item.(*v1beta1.PodUnavailableBudget)
	return budget
}

// terminating returns true if the namespace is being deleted. A namespace that is not in the cache counts as not
// terminating, so its budgets apply.
func (p *Plugin) terminating(namespace string) bool {
	object, err := p.namespaces.Get(namespace)
	return err == nil && (object.DeletionTimestamp != nil || object.Status.Phase == corev1.NamespaceTerminating)
}
