package v1alpha1

import (
	"cmp"

	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// CloneSetTemplateFormAnnotation is "v1beta1" on a UnitedDeployment whose cloneSetTemplate was last written
// through v1alpha1 with fields of v1beta1. Reads through v1alpha1 then return the template in that form, so
// that a client whose types have only those fields reads back what it wrote.
const CloneSetTemplateFormAnnotation = "apps.kruise.io/cloneset-template-form"

const v1beta1Form = "v1beta1"

// inV1beta1Form reports whether the spec has a field or a value that only v1beta1 has.
func (in *CloneSetSpec) inV1beta1Form() bool {
	return in.UpdateStrategy.inV1beta1Form() || in.ScaleStrategy.EnablePVCReuse || in.ScaleStrategy.ExcludePreparingDelete
}

func (in *CloneSetUpdateStrategy) inV1beta1Form() bool {
	return in.RollingUpdate != nil || in.Type == CloneSetUpdateStrategyType(apps.RollingUpdateCloneSetStrategyType)
}

// inV1alpha1Form reports whether the spec has a field or a value that only v1alpha1 has.
func (in *CloneSetSpec) inV1alpha1Form() bool {
	return in.UpdateStrategy.hasV1alpha1Type() || in.UpdateStrategy.tuned() || in.ScaleStrategy.DisablePVCReuse
}

// hasV1alpha1Type reports whether the type is one that only v1alpha1 has.
func (in *CloneSetUpdateStrategy) hasV1alpha1Type() bool {
	switch in.Type {
	case RecreateCloneSetUpdateStrategyType, InPlaceIfPossibleCloneSetUpdateStrategyType, InPlaceOnlyCloneSetUpdateStrategyType:
		return true
	default:
		return false
	}
}

// FormOfCloneSetTemplate returns the version whose fields the template of a CloneSet in a UnitedDeployment has, when the
// UnitedDeployment is shown in a version.
func FormOfCloneSetTemplate(version string, in *apps.UnitedDeployment) string {
	if in.Annotations[CloneSetTemplateFormAnnotation] == v1beta1Form {
		return v1beta1Form
	}
	return version
}

// fromV1beta1Form converts an update strategy with the block rollingUpdate. Fields beside the block set what
// the block does not set.
func fromV1beta1Form(in *CloneSetUpdateStrategy, out *apps.CloneSetUpdateStrategy, s conversion.Scope) error {
	beside := *in
	beside.RollingUpdate = nil
	shared := in.Type == CloneSetUpdateStrategyType(apps.RollingUpdateCloneSetStrategyType)
	if shared {
		beside.Type = ""
	}
	if err := Convert_v1alpha1_CloneSetUpdateStrategy_To_apps_CloneSetUpdateStrategy(&beside, out, s); err != nil {
		return err
	}
	if shared {
		out.Type = apps.RollingUpdateCloneSetStrategyType
	}
	if in.RollingUpdate == nil {
		return nil
	}
	block := &apps.RollingUpdateCloneSetStrategy{}
	err := v1beta1.Convert_v1beta1_RollingUpdateCloneSetStrategy_To_apps_RollingUpdateCloneSetStrategy(in.RollingUpdate, block, s)
	if err != nil {
		return err
	}
	if rest := out.RollingUpdate; rest != nil {
		block.PodUpdatePolicy = cmp.Or(block.PodUpdatePolicy, rest.PodUpdatePolicy)
		block.Partition = cmp.Or(block.Partition, rest.Partition)
		block.MaxUnavailable = cmp.Or(block.MaxUnavailable, rest.MaxUnavailable)
		block.MaxSurge = cmp.Or(block.MaxSurge, rest.MaxSurge)
		block.Paused = cmp.Or(block.Paused, rest.Paused)
		block.PriorityStrategy = cmp.Or(block.PriorityStrategy, rest.PriorityStrategy)
		block.InPlaceUpdateStrategy = cmp.Or(block.InPlaceUpdateStrategy, rest.InPlaceUpdateStrategy)
		if len(block.ScatterStrategy) == 0 {
			block.ScatterStrategy = rest.ScatterStrategy
		}
	}
	out.RollingUpdate = block
	return nil
}

// showInV1beta1Form converts a template of the hub to v1alpha1 with the fields of v1beta1.
func showInV1beta1Form(in *apps.CloneSetTemplateSpec, out *CloneSetTemplateSpec, s conversion.Scope) error {
	shown := &v1beta1.CloneSetTemplateSpec{}
	if err := v1beta1.Convert_apps_CloneSetTemplateSpec_To_v1beta1_CloneSetTemplateSpec(in, shown, s); err != nil {
		return err
	}
	out.ObjectMeta = shown.ObjectMeta
	strategy := &shown.Spec.UpdateStrategy
	out.Spec.UpdateStrategy = CloneSetUpdateStrategy{Type: CloneSetUpdateStrategyType(strategy.Type), RollingUpdate: strategy.RollingUpdate}
	out.Spec.ScaleStrategy.DisablePVCReuse = false
	out.Spec.ScaleStrategy.EnablePVCReuse = shown.Spec.ScaleStrategy.EnablePVCReuse
	out.Spec.ScaleStrategy.ExcludePreparingDelete = shown.Spec.ScaleStrategy.ExcludePreparingDelete
	return nil
}

// Convert_v1alpha1_UnitedDeployment_To_apps_UnitedDeployment records the form in which the CloneSet's template
// is written. A template without a field of either form keeps the recorded one.
func Convert_v1alpha1_UnitedDeployment_To_apps_UnitedDeployment(
	in *UnitedDeployment, out *apps.UnitedDeployment, s conversion.Scope,
) error {
	if err := autoConvert_v1alpha1_UnitedDeployment_To_apps_UnitedDeployment(in, out, s); err != nil {
		return err
	}
	template := in.Spec.Template.CloneSetTemplate
	switch {
	case template != nil && template.Spec.inV1beta1Form():
		out.Annotations = with(out.Annotations, CloneSetTemplateFormAnnotation, v1beta1Form)
		// Without a type, defaulting has set this one of v1alpha1.
		if template.Spec.UpdateStrategy.Type == RecreateCloneSetUpdateStrategyType {
			out.Spec.Template.CloneSetTemplate.Spec.ScaleStrategy.EnablePVCReuse = template.Spec.ScaleStrategy.EnablePVCReuse
		}
	case template == nil || template.Spec.inV1alpha1Form():
		out.Annotations = without(out.Annotations, CloneSetTemplateFormAnnotation)
	case in.Annotations[CloneSetTemplateFormAnnotation] == v1beta1Form:
		out.Spec.Template.CloneSetTemplate.Spec.ScaleStrategy.EnablePVCReuse = false
	}
	return nil
}

// Convert_apps_UnitedDeployment_To_v1alpha1_UnitedDeployment is the inverse.
func Convert_apps_UnitedDeployment_To_v1alpha1_UnitedDeployment(
	in *apps.UnitedDeployment, out *UnitedDeployment, s conversion.Scope,
) error {
	if err := autoConvert_apps_UnitedDeployment_To_v1alpha1_UnitedDeployment(in, out, s); err != nil {
		return err
	}
	template := in.Spec.Template.CloneSetTemplate
	if template == nil || in.Annotations[CloneSetTemplateFormAnnotation] != v1beta1Form {
		return nil
	}
	return showInV1beta1Form(template, out.Spec.Template.CloneSetTemplate, s)
}
