package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1alpha1_WorkloadSpreadSubset_To_apps_WorkloadSpreadSubset renames two fields and normalizes the
// patch.
func Convert_v1alpha1_WorkloadSpreadSubset_To_apps_WorkloadSpreadSubset(
	in *WorkloadSpreadSubset, out *apps.WorkloadSpreadSubset, s conversion.Scope,
) error {
	out.RequiredNodeSelector, out.PreferredNodeSelector = in.RequiredNodeSelectorTerm, in.PreferredNodeSelectorTerms
	if err := autoConvert_v1alpha1_WorkloadSpreadSubset_To_apps_WorkloadSpreadSubset(in, out, s); err != nil {
		return err
	}
	out.Patch = apps.CanonicalPatch(in.Patch)
	return nil
}

// Convert_apps_WorkloadSpreadSubset_To_v1alpha1_WorkloadSpreadSubset is the inverse.
func Convert_apps_WorkloadSpreadSubset_To_v1alpha1_WorkloadSpreadSubset(
	in *apps.WorkloadSpreadSubset, out *WorkloadSpreadSubset, s conversion.Scope,
) error {
	out.RequiredNodeSelectorTerm, out.PreferredNodeSelectorTerms = in.RequiredNodeSelector, in.PreferredNodeSelector
	return autoConvert_apps_WorkloadSpreadSubset_To_v1alpha1_WorkloadSpreadSubset(in, out, s)
}
