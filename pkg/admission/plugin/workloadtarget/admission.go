package workloadtarget

import (
	"context"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/rules"
)

// PluginName is the plugin's name in flags.
const PluginName = "WorkloadTarget"

// Register adds the plugin to the list.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// New returns the plugin.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Plugin is the admission plugin.
type Plugin struct {
	*admission.Handler
	initializer.HostClient
	initializer.KruiseClient
	initializer.OwnNamespace
}

var (
	_ admission.ValidationInterface     = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
)

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	return initializer.Initialized(PluginName, &p.HostClient, &p.KruiseClient, &p.OwnNamespace)
}

// Validate implements admission.ValidationInterface. It returns 422 for a wrong target or patch, and an internal
// error if something cannot be read.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	if attributes.GetSubresource() != "" {
		return nil
	}
	created := attributes.GetOperation() == admission.Create
	var (
		errs field.ErrorList
		err  error
	)
	switch object := attributes.GetObject().(type) {
	case *apps.PersistentPodState:
		if created {
			errs, err = p.checkTarget(ctx, &persistentPodStates, object.Namespace, object.Name, &object.Spec.TargetRef)
		}
	case *apps.WorkloadSpread:
		if created {
			errs, err = p.checkTarget(ctx, &workloadSpreads, object.Namespace, object.Name, object.Spec.TargetRef)
		}
		// The patches are tried only with a correct target, because the target says which template they change.
		if err == nil && len(errs) == 0 {
			old, _ := attributes.GetOldObject().(*apps.WorkloadSpread)
			errs, err = p.checkPatches(ctx, object, old)
		}
	default:
		return nil
	}
	switch kind := apps.Kind(attributes.GetKind().Kind); {
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("admit %s %s: %w", kind.Kind, attributes.GetName(), err))
	case len(errs) > 0:
		return rules.Invalid(kind, attributes.GetName(), errs)
	}
	return nil
}
