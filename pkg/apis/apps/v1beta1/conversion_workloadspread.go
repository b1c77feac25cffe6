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
	out.Patch = apps.PatchInOneForm(in.Patch)
	return nil
}
