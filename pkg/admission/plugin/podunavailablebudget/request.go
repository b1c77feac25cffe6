package podunavailablebudget

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/admission/dryrun"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/workload/disruption"
)

// request returns the requested disruption, or nil if the request is not a disruption. Each operation has its feature
// gate; an operation whose gate is off is admitted without a look at budgets.
func (p *Plugin) request(ctx context.Context, attributes admission.Attributes) (*disruption.Request, error) {
	subresource := attributes.GetSubresource()
	switch operation := attributes.GetOperation(); {
	case operation == admission.Delete && subresource == "" && p.gate.Enabled(features.PodUnavailableBudgetDeleteGate):
		pod, ok := attributes.GetOldObject().(*corev1.Pod)
		if !ok {
			// Without the deleted Pod there is nothing to judge. kube-apiserver always sends it.
			return nil, nil
		}
		return &disruption.Request{Operation: v1beta1.PubDeleteOperation, Pod: pod, DryRun: attributes.IsDryRun()}, nil
	case operation == admission.Create && subresource == "eviction" && p.gate.Enabled(features.PodUnavailableBudgetDeleteGate):
		return p.eviction(ctx, attributes)
	case operation == admission.Update && (subresource == "" || subresource == "resize") &&
		p.gate.Enabled(features.PodUnavailableBudgetUpdateGate):
		return p.update(attributes), nil
	default:
		return nil, nil
	}
}

// eviction reads the Pod, because an eviction contains only its name. If the Pod does not exist, it returns nil and
// kube-apiserver reports the error. It looks for budgets of the namespace first, so evictions elsewhere cost no read. A
// cache that is not filled yet shows no budgets, so the Pod is read then, and Validate decides.
func (p *Plugin) eviction(ctx context.Context, attributes admission.Attributes) (*disruption.Request, error) {
	if p.synced() && !p.governs(attributes.GetNamespace()) {
		return nil, nil
	}
	pod, err := p.host.CoreV1().Pods(attributes.GetNamespace()).Get(ctx, attributes.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("get Pod %s/%s: %w", attributes.GetNamespace(), attributes.GetName(), err))
	}
	return &disruption.Request{Operation: v1beta1.PubEvictOperation, Pod: pod, DryRun: dryrun.Requested(attributes)}, nil
}

// update returns the disruption that an update or resize causes, or nil if it causes none. The Pod of the request is
// the one before the update, because it is the one that serves now. With InPlacePodVerticalScaling, Kruise treats a
// resize that restarts nothing as an operation of its own; without it, a resize counts as an update.
func (p *Plugin) update(attributes admission.Attributes) *disruption.Request {
	before, ok := attributes.GetOldObject().(*corev1.Pod)
	after, okAfter := attributes.GetObject().(*corev1.Pod)
	if !ok || !okAfter {
		return nil
	}
	operation, disrupts := disruption.UpdateOf(before, after)
	if !disrupts {
		return nil
	}
	return &disruption.Request{
		Operation: operation, Pod: before, DryRun: attributes.IsDryRun(),
		ResizeIsUpdate: !p.gate.Enabled(features.InPlacePodVerticalScaling),
	}
}
