package v1beta1

import (
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// inV1beta1Form returns the strategy with the fields of v1alpha1 moved to the block rollingUpdate. They
// replace what the block has: this version never shows them, so the writer has set them now.
func (in *CloneSetUpdateStrategy) inV1beta1Form() CloneSetUpdateStrategy {
	policy := in.v1alpha1Policy()
	if policy == "" && !in.hasV1alpha1Fields() {
		return *in
	}
	out := CloneSetUpdateStrategy{Type: in.Type, RollingUpdate: new(ptr.Deref(in.RollingUpdate, RollingUpdateCloneSetStrategy{}))}
	block := out.RollingUpdate
	if policy != "" {
		out.Type, block.PodUpdatePolicy = RollingUpdateCloneSetStrategyType, policy
	}
	if in.Partition != nil {
		block.Partition = in.Partition
	}
	if in.MaxUnavailable != nil {
		block.MaxUnavailable = in.MaxUnavailable
	}
	if in.MaxSurge != nil {
		block.MaxSurge = in.MaxSurge
	}
	block.Paused = ptr.Deref(in.Paused, block.Paused)
	if in.PriorityStrategy != nil {
		block.PriorityStrategy = in.PriorityStrategy
	}
	if len(in.ScatterStrategy) > 0 {
		block.ScatterStrategy = in.ScatterStrategy
	}
	if in.InPlaceUpdateStrategy != nil {
		inPlace := ptr.Deref(block.InPlaceUpdateStrategy, InPlaceUpdateStrategy{})
		inPlace.GracePeriodSeconds = in.InPlaceUpdateStrategy.GracePeriodSeconds
		block.InPlaceUpdateStrategy = &inPlace
	}
	return out
}

// v1alpha1Policy returns the policy that v1alpha1 has as a type, or "" if the type is one of this version.
func (in *CloneSetUpdateStrategy) v1alpha1Policy() pub.PodUpdatePolicyType {
	switch policy := pub.PodUpdatePolicyType(in.Type); policy {
	case pub.ReCreatePodUpdatePolicy, pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceOnlyPodUpdatePolicy:
		return policy
	default:
		return ""
	}
}

func (in *CloneSetUpdateStrategy) hasV1alpha1Fields() bool {
	return in.Partition != nil || in.MaxUnavailable != nil || in.MaxSurge != nil || in.Paused != nil ||
		in.PriorityStrategy != nil || len(in.ScatterStrategy) > 0 || in.InPlaceUpdateStrategy != nil
}

// Convert_v1beta1_CloneSetUpdateStrategy_To_apps_CloneSetUpdateStrategy takes the fields of v1alpha1 too.
func Convert_v1beta1_CloneSetUpdateStrategy_To_apps_CloneSetUpdateStrategy(
	in *CloneSetUpdateStrategy, out *apps.CloneSetUpdateStrategy, s conversion.Scope,
) error {
	moved := in.inV1beta1Form()
	return autoConvert_v1beta1_CloneSetUpdateStrategy_To_apps_CloneSetUpdateStrategy(&moved, out, s)
}

// Convert_v1beta1_CloneSetScaleStrategy_To_apps_CloneSetScaleStrategy takes the field of v1alpha1 too.
func Convert_v1beta1_CloneSetScaleStrategy_To_apps_CloneSetScaleStrategy(
	in *CloneSetScaleStrategy, out *apps.CloneSetScaleStrategy, s conversion.Scope,
) error {
	err := autoConvert_v1beta1_CloneSetScaleStrategy_To_apps_CloneSetScaleStrategy(in, out, s)
	if in.DisablePVCReuse != nil {
		out.EnablePVCReuse = !*in.DisablePVCReuse
	}
	return err
}
