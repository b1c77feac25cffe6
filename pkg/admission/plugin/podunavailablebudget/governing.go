package podunavailablebudget

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	workloads, orphaned, err := p.workloadsOf(ctx, pod)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("look up the owners of Pod %s/%s: %w", pod.Namespace, pod.Name, err))
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

// hinted returns the budget in the annotation of the Pod. It accepts only budgets whose target selects Pods through
// the scale subresource without owning them. Only the controller reads that subresource and sets the annotation. All
// other budgets are found without it.
func (p *Plugin) hinted(pod *corev1.Pod) *v1beta1.PodUnavailableBudget {
	name := disruption.Hinted(pod.Annotations)
	if name == "" {
		return nil
	}
	item, found, err := p.known.GetByKey(pod.Namespace + "/" + name)
	if err != nil || !found {
		return nil
	}
	budget, ok := item.(*v1beta1.PodUnavailableBudget)
	if !ok || !disruption.FoundByScale(budget) {
		return nil
	}
	return budget
}

// terminating returns true if the namespace is being deleted. A namespace that is not in the cache counts as not
// terminating, so its budgets apply.
func (p *Plugin) terminating(namespace string) bool {
	object, err := p.namespaces.Get(namespace)
	return err == nil && (object.DeletionTimestamp != nil || object.Status.Phase == corev1.NamespaceTerminating)
}
