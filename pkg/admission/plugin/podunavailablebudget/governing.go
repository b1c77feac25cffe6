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

// governs tells whether the namespace has a budget at all.
func (p *Plugin) governs(namespace string) bool {
	keys, err := p.known.IndexKeys(cache.NamespaceIndex, namespace)
	return err != nil || len(keys) > 0
}

// governing returns the budget that governs a Pod, or nil: also for a Pod that goes because what it belongs to went.
func (p *Plugin) governing(ctx context.Context, pod *corev1.Pod) (*v1beta1.PodUnavailableBudget, error) {
	if !p.governs(pod.Namespace) || p.terminating(pod.Namespace) {
		return nil, nil
	}
	workloads, orphaned, err := p.workloadsOf(ctx, pod)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("look up what Pod %s/%s belongs to: %w", pod.Namespace, pod.Name, err))
	}
	if orphaned {
		return nil, nil
	}
	budget, err := disruption.Governing(p.known, pod.Namespace, pod.Labels, workloads)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if budget == nil {
		return p.hinted(pod), nil
	}
	return budget, nil
}

// hinted is the budget of a Pod that its workload does not own, but selects through its scale subresource. Only the controller
// reads those, and tells by annotation. It is believed of no other budget: those are found without it.
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

func (p *Plugin) terminating(namespace string) bool {
	object, err := p.namespaces.Get(namespace)
	return err == nil && (object.DeletionTimestamp != nil || object.Status.Phase == corev1.NamespaceTerminating)
}
