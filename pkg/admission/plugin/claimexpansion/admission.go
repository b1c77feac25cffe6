package claimexpansion

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/apps"
)

// PluginName is the plugin's name in flags.
const PluginName = "StatefulSetClaimExpansion"

// Register adds the plugin to the list.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// New returns the plugin.
func New() *Plugin { return &Plugin{Handler: admission.NewHandler(admission.Update)} }

// Plugin is the admission plugin.
type Plugin struct {
	*admission.Handler
	initializer.HostClient
}

var (
	_ admission.ValidationInterface     = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
)

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	return initializer.Initialized(PluginName, &p.HostClient)
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	set, ok := attributes.GetObject().(*apps.StatefulSet)
	if !ok || attributes.GetSubresource() != "" {
		return nil
	}
	old, ok := attributes.GetOldObject().(*apps.StatefulSet)
	if !ok || set.Spec.VolumeClaimUpdateStrategy.Type != apps.OnPodRollingUpdateVolumeClaimUpdateStrategyType {
		return nil
	}
	stored := map[string]*corev1.PersistentVolumeClaim{}
	for i := range old.Spec.VolumeClaimTemplates {
		stored[old.Spec.VolumeClaimTemplates[i].Name] = &old.Spec.VolumeClaimTemplates[i]
	}
	var errs field.ErrorList
	for i := range set.Spec.VolumeClaimTemplates {
		claim := &set.Spec.VolumeClaimTemplates[i]
		before := stored[claim.Name]
		if before == nil || !grows(claim, before) {
			continue
		}
		problem, err := p.cannotExpand(ctx, claim.Spec.StorageClassName)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("admit StatefulSet %s: %w", set.Name, err))
		}
		if problem != "" {
			path := field.NewPath("spec", "volumeClaimTemplates").Index(i).Child("spec", "resources", "requests")
			size := before.Spec.Resources.Requests[corev1.ResourceStorage]
			errs = append(errs, field.Forbidden(path.Key(string(corev1.ResourceStorage)),
				fmt.Sprintf("%s; put %s back, or use OnDelete", problem, size.String())))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(apps.Kind("StatefulSet"), set.Name, errs)
}

func grows(claim, old *corev1.PersistentVolumeClaim) bool {
	size, before := claim.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	return size.Cmp(before) > 0
}
