package v1beta1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1beta1_WorkloadSpreadSubset_To_apps_WorkloadSpreadSubset normalizes the patch.
func Convert_v1beta1_WorkloadSpreadSubset_To_apps_WorkloadSpreadSubset(
	in *WorkloadSpreadSubset, out *apps.WorkloadSpreadSubset, s conversion.Scope,
) error {
	if err := autoConvert_v1beta1_WorkloadSpreadSubset_To_apps_WorkloadSpreadSubset(in, out, s); err != nil {
		return err
	}
	out.Patch = apps.PatchInOneForm(in.Patch)
	return nil
}
