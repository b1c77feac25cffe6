package pod

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/features"
)

// PluginName is the plugin's name in flags.
const PluginName = "PodCreation"

// Register adds the plugin to the list.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(clock.RealClock{}), nil })
}

// mutator changes one aspect of new Pods. It may modify the Pod that it gets. The namespace of the Pod is set; the
// name may be empty if it is generated later. A second call on its own result must change nothing.
type mutator struct {
	name   string
	mutate func(ctx context.Context, pod *corev1.Pod, attributes admission.Attributes) error
	// optional mutators may fail. The Pod then stays as it was before the mutator, and a controller completes it later.
	optional bool
}

// chain returns all mutators in the order in which they run.
func (p *Plugin) chain() []mutator {
	return []mutator{
		{name: "readiness gate", mutate: readinessGate{features: p.Gate}.mutate},
		{name: "budget", mutate: p.budget.mutate, optional: true},
	}
}

// Admit runs the chain on a new Pod. If it returns an error, the Pod is unchanged.
func (p *Plugin) Admit(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, ok := attributes.GetObject().(*corev1.Pod)
	if !ok || attributes.GetResource().GroupResource() != corev1.Resource("pods") || attributes.GetSubresource() != "" ||
		attributes.GetOperation() != admission.Create || !p.Gate.Enabled(features.PodWebhook) {
		return nil
	}
	// Do not wait for the caches. The client retries, or the failure policy of the webhook admits the Pod without this plugin.
	if !p.synced() {
		return apierrors.NewServiceUnavailable("the caches for new Pods are not loaded yet; try again in a few seconds")
	}
	result := pod.DeepCopy()
	if result.Namespace == "" {
		result.Namespace = attributes.GetNamespace()
	}
	for _, m := range p.mutators {
		next := result.DeepCopy()
		switch err := m.mutate(ctx, next, attributes); {
		case err == nil:
			result = next
		case m.optional:
			klog.FromContext(ctx).Error(err, "A mutator failed: the Pod is created without its changes", "mutator", m.name,
				"namespace", result.Namespace, "name", pod.Name, "generateName", pod.GenerateName)
		default:
			return err
		}
	}
	result.Namespace = pod.Namespace
	result.DeepCopyInto(pod)
	return nil
}
