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
	"kruise.io/kruise/pkg/apis/rules"
	"kruise.io/kruise/pkg/features"
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
	initializer.Features
}

var (
	_ admission.ValidationInterface     = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
)

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	return initializer.Initialized(PluginName, &p.HostClient, &p.Features)
}

// Validate implements admission.ValidationInterface. It returns 422 with one cause for each claim template that
// cannot change its size, and an internal error if a StorageClass cannot be read. Each cause names the stored size
// as a way back.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	set, ok := attributes.GetObject().(*apps.StatefulSet)
	if !ok || attributes.GetSubresource() != "" || !p.Gate.Enabled(features.StatefulSetAutoResizePVCGate) {
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
		if before == nil || sameSize(claim, before) {
			continue
		}
		problem, err := p.judge(ctx, claim, before)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("admit StatefulSet %s: %w", set.Name, err))
		}
		if problem != nil {
			errs = append(errs, problem)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return rules.Invalid(apps.Kind("StatefulSet"), set.Name, errs)
}

// judge returns the error of a claim template that asks for another size than before, or nil. The path names the
// template and not its index, so that it stays true when the list changes.
func (p *Plugin) judge(ctx context.Context, claim, old *corev1.PersistentVolumeClaim) (*field.Error, error) {
	path := field.NewPath("spec", "volumeClaimTemplates").Key(claim.Name).
		Child("spec", "resources", "requests", string(corev1.ResourceStorage))
	stored := old.Spec.Resources.Requests[corev1.ResourceStorage]
	remedy := "; put " + stored.String() + " back, or use OnDelete"
	switch problem, missing, err := p.cannotExpand(ctx, claim.Spec.StorageClassName); {
	case err != nil:
		return nil, err
	case missing:
		size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
		return field.Invalid(path, size.String(), problem+remedy), nil
	case problem != "":
		return field.Forbidden(path, problem+remedy), nil
	default:
		return nil, nil
	}
}

// sameSize returns true if the claim requests the same storage as before, within the same limit.
func sameSize(claim, old *corev1.PersistentVolumeClaim) bool {
	same := func(list, before corev1.ResourceList) bool {
		size, stored := list[corev1.ResourceStorage], before[corev1.ResourceStorage]
		return size.Cmp(stored) == 0
	}
	return same(claim.Spec.Resources.Requests, old.Spec.Resources.Requests) && same(claim.Spec.Resources.Limits, old.Spec.Resources.Limits)
}
