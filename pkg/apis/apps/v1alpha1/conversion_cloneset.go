package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// Convert_v1alpha1_CloneSet_To_apps_CloneSet sets the fields that v1alpha1 has in metadata: a label and three
// annotations, which stay, and the annotation KeptFieldsAnnotation.
func Convert_v1alpha1_CloneSet_To_apps_CloneSet(in *CloneSet, out *apps.CloneSet, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_CloneSet_To_apps_CloneSet(in, out, s); err != nil {
		return err
	}
	kept := takeKeptCloneSet(out)
	annotation.ToFields(apps.CloneSetSettings(), out, kept.Shown)
	kept.restore(string(in.Spec.UpdateStrategy.Type), &out.Spec.UpdateStrategy)
	return nil
}

// Convert_apps_CloneSet_To_v1alpha1_CloneSet is the inverse. A field that is set decides about its label or
// annotation. One that is not set leaves it as it is stored.
func Convert_apps_CloneSet_To_v1alpha1_CloneSet(in *apps.CloneSet, out *CloneSet, s conversion.Scope) error {
	if err := autoConvert_apps_CloneSet_To_v1alpha1_CloneSet(in, out, s); err != nil {
		return err
	}
	return keepCloneSet(in, out, annotation.ToMetadata(apps.CloneSetSettings(), in, out), s)
}

// Convert_v1alpha1_CloneSetSpec_To_apps_CloneSetSpec takes apiVersion and kind off the claim
// templates.
func Convert_v1alpha1_CloneSetSpec_To_apps_CloneSetSpec(in *CloneSetSpec, out *apps.CloneSetSpec, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_CloneSetSpec_To_apps_CloneSetSpec(in, out, s); err != nil {
		return err
	}
	out.VolumeClaimTemplates = apps.ClaimsToHub(in.VolumeClaimTemplates)
	// A patch that adds the block rollingUpdate leaves the type of v1alpha1 beside it. It must not change the reuse of claims, which is on
	// by default there.
	if in.inV1beta1Form() && !in.UpdateStrategy.hasV1alpha1Type() {
		out.ScaleStrategy.EnablePVCReuse = in.ScaleStrategy.EnablePVCReuse
	}
	return nil
}

// Convert_apps_CloneSetSpec_To_v1alpha1_CloneSetSpec is the inverse.
func Convert_apps_CloneSetSpec_To_v1alpha1_CloneSetSpec(in *apps.CloneSetSpec, out *CloneSetSpec, s conversion.Scope) error {
	if err := autoConvert_apps_CloneSetSpec_To_v1alpha1_CloneSetSpec(in, out, s); err != nil {
		return err
	}
	out.VolumeClaimTemplates = apps.ClaimsFromHub(in.VolumeClaimTemplates)
	return nil
}

// Convert_v1alpha1_CloneSetScaleStrategy_To_apps_CloneSetScaleStrategy turns the reuse of
// claims around.
func Convert_v1alpha1_CloneSetScaleStrategy_To_apps_CloneSetScaleStrategy(
	in *CloneSetScaleStrategy, out *apps.CloneSetScaleStrategy, s conversion.Scope,
) error {
	err := autoConvert_v1alpha1_CloneSetScaleStrategy_To_apps_CloneSetScaleStrategy(in, out, s)
	out.EnablePVCReuse = !in.DisablePVCReuse
	return err
}

// Convert_apps_CloneSetScaleStrategy_To_v1alpha1_CloneSetScaleStrategy is the inverse. The fields of
// v1beta1 are shown as the label and as disablePVCReuse.
func Convert_apps_CloneSetScaleStrategy_To_v1alpha1_CloneSetScaleStrategy(
	in *apps.CloneSetScaleStrategy, out *CloneSetScaleStrategy, s conversion.Scope,
) error {
	err := autoConvert_apps_CloneSetScaleStrategy_To_v1alpha1_CloneSetScaleStrategy(in, out, s)
	out.DisablePVCReuse, out.EnablePVCReuse, out.ExcludePreparingDelete = !in.EnablePVCReuse, false, false
	return err
}

// Convert_v1alpha1_CloneSetUpdateStrategy_To_apps_CloneSetUpdateStrategy moves the flat
// fields into the block rollingUpdate. OnDelete has the block only when a field is set.
func Convert_v1alpha1_CloneSetUpdateStrategy_To_apps_CloneSetUpdateStrategy(
	in *CloneSetUpdateStrategy, out *apps.CloneSetUpdateStrategy, s conversion.Scope,
) error {
	if in.inV1beta1Form() {
		return fromV1beta1Form(in, out, s)
	}
	*out = apps.CloneSetUpdateStrategy{}
	policy := pub.PodUpdatePolicyType(in.Type)
	switch in.Type {
	case "":
	case OnDeleteCloneSetUpdateStrategyType:
		out.Type, policy = apps.OnDeleteCloneSetStrategyType, pub.ReCreatePodUpdatePolicy
	default:
		out.Type = apps.RollingUpdateCloneSetStrategyType
	}
	if out.Type != apps.RollingUpdateCloneSetStrategyType && !in.tuned() {
		return nil
	}
	out.RollingUpdate = &apps.RollingUpdateCloneSetStrategy{
		PodUpdatePolicy:  policy,
		Partition:        in.Partition,
		MaxUnavailable:   in.MaxUnavailable,
		MaxSurge:         in.MaxSurge,
		Paused:           in.Paused,
		PriorityStrategy: in.PriorityStrategy,
		ScatterStrategy:  in.ScatterStrategy,
	}
	if in.InPlaceUpdateStrategy != nil {
		out.RollingUpdate.InPlaceUpdateStrategy = &apps.InPlaceUpdateStrategy{
			GracePeriodSeconds: in.InPlaceUpdateStrategy.GracePeriodSeconds,
		}
	}
	return nil
}

// Convert_apps_CloneSetUpdateStrategy_To_v1alpha1_CloneSetUpdateStrategy is the inverse.
func Convert_apps_CloneSetUpdateStrategy_To_v1alpha1_CloneSetUpdateStrategy(
	in *apps.CloneSetUpdateStrategy, out *CloneSetUpdateStrategy, _ conversion.Scope,
) error {
	*out = CloneSetUpdateStrategy{}
	if rolling := in.RollingUpdate; rolling != nil {
		*out = CloneSetUpdateStrategy{
			Type:             CloneSetUpdateStrategyType(rolling.PodUpdatePolicy),
			Partition:        rolling.Partition,
			MaxUnavailable:   rolling.MaxUnavailable,
			MaxSurge:         rolling.MaxSurge,
			Paused:           rolling.Paused,
			PriorityStrategy: rolling.PriorityStrategy,
			ScatterStrategy:  rolling.ScatterStrategy,
		}
		if rolling.InPlaceUpdateStrategy != nil {
			out.InPlaceUpdateStrategy = &pub.InPlaceUpdateStrategy{
				GracePeriodSeconds: rolling.InPlaceUpdateStrategy.GracePeriodSeconds,
			}
		}
	}
	if in.Type == apps.OnDeleteCloneSetStrategyType {
		out.Type = OnDeleteCloneSetUpdateStrategyType
	}
	return nil
}

// tuned tells whether a field beside type is set.
func (in *CloneSetUpdateStrategy) tuned() bool {
	return in.Partition != nil || in.MaxUnavailable != nil || in.MaxSurge != nil || in.Paused ||
		in.PriorityStrategy != nil || len(in.ScatterStrategy) > 0 || in.InPlaceUpdateStrategy != nil
}
