package containerrecreaterequest

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/rules"
	"kruise.io/kruise/pkg/features"
)

// PluginName is the plugin's name in flags.
const PluginName = "ContainerRecreateRequest"

// resource is compared instead of the Go type, so an unexpected type of a request is an error and not skipped.
const resource = "containerrecreaterequests"

// Register adds the plugin to the list.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// New returns the plugin. It skips requests while the feature gate KruiseDaemon is off, because the registry then refuses them.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Plugin is the admission plugin. It mutates, because the server fills in what the node agent needs from the Pod.
type Plugin struct {
	*admission.Handler
	initializer.HostClient
	initializer.Features
}

var (
	_ admission.MutationInterface       = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
)

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	return initializer.Initialized(PluginName, &p.HostClient, &p.Features)
}

// Admit implements admission.MutationInterface. It runs before validation, so it checks the spec itself before it
// reads anything by its values. A write of the status subresource, which node agents use, does not pass here.
func (p *Plugin) Admit(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	if attributes.GetResource().GroupResource() != apps.Resource(resource) || attributes.GetSubresource() != "" ||
		!p.Gate.Enabled(features.KruiseDaemon) {
		return nil
	}
	request, ok := attributes.GetObject().(*apps.ContainerRecreateRequest)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("unexpected type %T of a ContainerRecreateRequest", attributes.GetObject()))
	}
	if attributes.GetOperation() == admission.Create {
		return p.create(ctx, attributes, request)
	}
	old, ok := attributes.GetOldObject().(*apps.ContainerRecreateRequest)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("unexpected type %T of a ContainerRecreateRequest", attributes.GetOldObject()))
	}
	return update(attributes, request, old)
}

// create checks a new request and fills in its missing fields. It answers with the first group of problems that it
// finds: the spec, then the Pod, then the node, then the containers. A later group depends on the earlier ones.
// Errors that are no refusals are internal errors of a read, and the client can retry.
func (p *Plugin) create(ctx context.Context, attributes admission.Attributes, request *apps.ContainerRecreateRequest) error {
	path := field.NewPath("spec")
	errs := validation.ValidateContainerRecreateRequestSpec(&request.Spec, path)
	// On reinvocation after user webhooks, this plugin itself has set these fields in the first round.
	if !attributes.GetReinvocationContext().IsReinvoke() {
		errs = append(errs, serverOwned(request.Spec.Containers, path.Child("containers"))...)
	}
	if len(errs) > 0 {
		return refusal(request, errs)
	}
	pod, problem, err := p.pod(ctx, attributes.GetNamespace(), request.Spec.PodName)
	if err != nil {
		return err
	}
	if problem != nil {
		return refusal(request, field.ErrorList{problem})
	}
	node, problem, err := p.node(ctx, pod)
	if err != nil {
		return err
	}
	if problem != nil {
		return refusal(request, field.ErrorList{problem})
	}
	// A request with a controller comes from a Kruise controller, for example for an update in place. Only users get
	// the warning.
	byUser := metav1.GetControllerOfNoCopy(request) == nil
	if byUser && pod.Spec.RestartPolicy == corev1.RestartPolicyNever && request.Spec.ActiveDeadlineSeconds == nil {
		warning.AddWarning(ctx, "", "spec.podName: the Pod's restartPolicy is Never, so its containers are stopped and do not start again")
	}
	label(request, pod, node)
	// Without a value of its own, the request stops containers with the grace period of the Pod, as the kubelet does.
	if request.Spec.Strategy.TerminationGracePeriodSeconds == nil {
		request.Spec.Strategy.TerminationGracePeriodSeconds = pod.Spec.TerminationGracePeriodSeconds
	}
	if errs := fillContainers(request.Spec.Containers, pod, path.Child("containers")); len(errs) > 0 {
		return refusal(request, errs)
	}
	return nil
}

// update refuses changes of immutable fields. A write to the main resource cannot change the status, so the stored
// status is put in its place before the comparison. The exception is v1alpha1, which stores part of the status in
// annotations: a write of that version can change the status, and the comparison must see it. The refusal is 403, see
// the package comment.
func update(attributes admission.Attributes, request, old *apps.ContainerRecreateRequest) error {
	changed := *request
	if attributes.GetKind().Version != v1alpha1.SchemeGroupVersion.Version {
		changed.Status = old.Status
	}
	if errs := validation.ContainerRecreateRequestFixed(&changed, old); len(errs) > 0 {
		return apierrors.NewForbidden(apps.Resource(resource), request.Name, errs.ToAggregate())
	}
	return nil
}

// refusal returns a 422 error with one cause for each problem, as validation does.
func refusal(request *apps.ContainerRecreateRequest, errs field.ErrorList) error {
	return rules.Invalid(apps.Kind("ContainerRecreateRequest"), request.Name, errs)
}
