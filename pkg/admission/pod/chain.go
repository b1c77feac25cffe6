package pod

import (
	"cmp"
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/admission/review"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
)

// PluginName is the plugin's name in flags.
const PluginName = "PodCreation"

// Register adds the plugin to the list. The clock gives the times that the plugin writes.
func Register(plugins *admission.Plugins, clock clock.PassiveClock) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(clock), nil })
}

// mutator changes one aspect of new Pods. The namespace of the Pod is set; the name may be empty if it is generated later. A
// second call on its own result must change nothing.
type mutator struct {
	// name is for the log of failures.
	name   string
	mutate func(ctx context.Context, e *edit, attributes admission.Attributes) error
	// optional mutators may fail. The Pod then stays as it was before the mutator, and a controller completes it later.
	optional bool
}

// chain returns all mutators in the order in which they run. The order has reasons: the subset of a WorkloadSpread
// can patch containers and labels, and SidecarSets are selected by labels. The launch order counts all containers,
// also injected ones. The budget is found by labels and owners, so it comes after everything that changes labels.
func (p *Plugin) chain() []mutator {
	return []mutator{
		{name: "readiness gate", mutate: readinessGate{features: p.Gate}.mutate},
		{name: "spread", mutate: p.spreads.mutate},
		{name: "sidecars", mutate: p.sidecars.mutate},
		{name: "launch order", mutate: launchOrder},
		{name: "topology", mutate: p.topology.mutate},
		{name: "budget", mutate: p.budget.mutate, optional: true},
		{name: "serverless probes", mutate: p.probes.mutate},
	}
}

// upToDate waits until the cache of SidecarSets is as new as the store. If that takes too long, the Pod is still better off with what the
// cache shows than without anything, except in a namespace that accepts no Pod without all that concerns it.
func (p *Plugin) upToDate(ctx context.Context, namespace string) error {
	if p.current == nil {
		return nil
	}
	behind := p.current(ctx)
	if behind == nil {
		return nil
	}
	labels, _, err := p.sidecars.namespaceLabels(ctx, namespace)
	if err != nil || labels[pub.PodFailurePolicyKey] == pub.PodFailurePolicyFail {
		return behind
	}
	klog.FromContext(ctx).Error(behind, "A new Pod may lack the last changes of SidecarSets", "namespace", namespace)
	return nil
}

// Patch runs the chain on a new Pod, and returns the operations that change it. The Pod of the attributes does not
// change. It returns the error of the first required mutator that fails, without operations.
func (p *Plugin) Patch(ctx context.Context, attributes admission.Attributes) ([]review.Operation, error) {
	pod, ok := attributes.GetObject().(*corev1.Pod)
	if !ok || attributes.GetResource().GroupResource() != corev1.Resource("pods") || attributes.GetSubresource() != "" ||
		attributes.GetOperation() != admission.Create || !p.Gate.Enabled(features.PodWebhook) {
		return nil, nil
	}
	// Do not wait for the caches. The client retries, or the failure policy of the webhook admits the Pod without this plugin.
	if !p.synced() {
		return nil, apierrors.NewServiceUnavailable("the caches for new Pods are not loaded yet; try again in a few seconds")
	}
	e := &edit{pod: pod.DeepCopy()}
	// A Pod can be created without a namespace in its body. The mutators look up objects by the namespace, so it is
	// set in the copy, without an operation.
	if e.pod.Namespace == "" {
		e.pod.Namespace = cmp.Or(attributes.GetNamespace(), metav1.NamespaceDefault)
	}
	if err := p.upToDate(ctx, e.pod.Namespace); err != nil {
		return nil, err
	}
	for _, m := range p.mutators {
		if !m.optional {
			if err := m.mutate(ctx, e, attributes); err != nil {
				return nil, err
			}
			continue
		}
		// A failed optional mutator may have changed the Pod in part. The savepoint removes these changes and their
		// operations together.
		before := e.savepoint()
		if err := m.mutate(ctx, e, attributes); err != nil {
			*e = before
			klog.FromContext(ctx).Error(err, "A mutator failed: the Pod is created without its changes", "mutator", m.name,
				"namespace", e.pod.Namespace, "name", pod.Name, "generateName", pod.GenerateName)
		}
	}
	return e.operations, nil
}
