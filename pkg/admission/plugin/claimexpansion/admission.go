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

// New returns the plugin. It checks updates only: a creation has no claims yet that would have to grow.
func New() *Plugin { return &Plugin{Handler: admission.NewHandler(admission.Update)} }

// Plugin is the admission plugin. It reads StorageClasses with the client of the host cluster.
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

// Validate implements admission.ValidationInterface. It returns 422 with one cause for each claim template that
// cannot grow, and an internal error if a StorageClass cannot be read. Each cause names the stored size as a way
// back.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	set, ok := attributes.GetObject().(*apps.StatefulSet)
	if !ok || attributes.GetSubresource() != "" {
		return nil
	}
	old, ok := attributes.GetOldObject().(*apps.StatefulSet)
	// With OnDelete, the controller does not change the claims of running Pods, so no update waits for an expansion.
	if !ok || set.Spec.VolumeClaimUpdateStrategy.Type != apps.OnPodRollingUpdateVolumeClaimUpdateStrategyType {
		return nil
	}
	stored := map[string]*corev1.PersistentVolumeClaim{}
	for i := range old.Spec.VolumeClaimTemplates {
		stored[old.Spec.VolumeClaimTemplates[i].Name] = &old.Spec.VolumeClaimTemplates[i]
	}
	// Templates are matched by name, and not by index. A new template has no claims to
	// expand.
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

// grows returns true if the claim requests more storage than before. Only growth needs a class that can expand.
func grows(claim, old *corev1.PersistentVolumeClaim) bool {
	size, before := claim.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	return size.Cmp(before) > 0
}
