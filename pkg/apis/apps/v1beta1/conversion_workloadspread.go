package v1beta1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1beta1_WorkloadSpreadSubset_To_apps_WorkloadSpreadSubset takes the fields of v1alpha1 too, and
// normalizes the patch.
func Convert_v1beta1_WorkloadSpreadSubset_To_apps_WorkloadSpreadSubset(
	in *WorkloadSpreadSubset, out *apps.WorkloadSpreadSubset, s conversion.Scope,
) error {
	if err := autoConvert_v1beta1_WorkloadSpreadSubset_To_apps_WorkloadSpreadSubset(in, out, s); err != nil {
		return err
	}
	if in.RequiredNodeSelectorTerm != nil {
		out.RequiredNodeSelector = in.RequiredNodeSelectorTerm
	}
	if len(in.PreferredNodeSelectorTerms) > 0 {
		out.PreferredNodeSelector = in.PreferredNodeSelectorTerms
	}
	out.Patch = apps.CanonicalPatch(in.Patch)
	return nil
}

// noReason is the reason that v1beta1 shows of a condition without one: its conditions have a reason. v1alpha1 shows none.
const noReason = "Unknown"

// Convert_apps_WorkloadSpreadSubsetCondition_To_v1beta1_WorkloadSpreadSubsetCondition sets the reason of a condition without one.
func Convert_apps_WorkloadSpreadSubsetCondition_To_v1beta1_WorkloadSpreadSubsetCondition(
	in *apps.WorkloadSpreadSubsetCondition, out *WorkloadSpreadSubsetCondition, s conversion.Scope,
) error {
	err := autoConvert_apps_WorkloadSpreadSubsetCondition_To_v1beta1_WorkloadSpreadSubsetCondition(in, out, s)
	if out.Reason == "" {
		out.Reason = noReason
	}
	return err
}

// Convert_v1beta1_WorkloadSpreadSubsetCondition_To_apps_WorkloadSpreadSubsetCondition is the inverse.
func Convert_v1beta1_WorkloadSpreadSubsetCondition_To_apps_WorkloadSpreadSubsetCondition(
	in *WorkloadSpreadSubsetCondition, out *apps.WorkloadSpreadSubsetCondition, s conversion.Scope,
) error {
	err := autoConvert_v1beta1_WorkloadSpreadSubsetCondition_To_apps_WorkloadSpreadSubsetCondition(in, out, s)
	if out.Reason == noReason {
		out.Reason = ""
	}
	return err
}

// Convert_apps_WorkloadSpreadSubsetStatuses_To_v1beta1_WorkloadSpreadSubsetStatuses converts a list in a map, which the generator
// does not.
func Convert_apps_WorkloadSpreadSubsetStatuses_To_v1beta1_WorkloadSpreadSubsetStatuses(
	in *apps.WorkloadSpreadSubsetStatuses, out *WorkloadSpreadSubsetStatuses, s conversion.Scope,
) error {
	return convertEach(*in, (*[]WorkloadSpreadSubsetStatus)(out),
		Convert_apps_WorkloadSpreadSubsetStatus_To_v1beta1_WorkloadSpreadSubsetStatus, s)
}

// Convert_v1beta1_WorkloadSpreadSubsetStatuses_To_apps_WorkloadSpreadSubsetStatuses is the inverse.
func Convert_v1beta1_WorkloadSpreadSubsetStatuses_To_apps_WorkloadSpreadSubsetStatuses(
	in *WorkloadSpreadSubsetStatuses, out *apps.WorkloadSpreadSubsetStatuses, s conversion.Scope,
) error {
	return convertEach(*in, (*[]apps.WorkloadSpreadSubsetStatus)(out),
		Convert_v1beta1_WorkloadSpreadSubsetStatus_To_apps_WorkloadSpreadSubsetStatus, s)
}

func convertEach[In, Out any](in []In, out *[]Out, convert func(*In, *Out, conversion.Scope) error, s conversion.Scope) error {
	*out = nil
	if in != nil {
		*out = make([]Out, len(in))
	}
	for i := range in {
		if err := convert(&in[i], &(*out)[i], s); err != nil {
			return err
		}
	}
	return nil
}
