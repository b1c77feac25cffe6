package v1beta1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1beta1_CloneSetSpec_To_apps_CloneSetSpec takes apiVersion and kind off the claim
// templates.
func Convert_v1beta1_CloneSetSpec_To_apps_CloneSetSpec(in *CloneSetSpec, out *apps.CloneSetSpec, s conversion.Scope) error {
	if err := autoConvert_v1beta1_CloneSetSpec_To_apps_CloneSetSpec(in, out, s); err != nil {
		return err
	}
	out.VolumeClaimTemplates = apps.ClaimsToHub(in.VolumeClaimTemplates)
	return nil
}

// Convert_apps_CloneSetSpec_To_v1beta1_CloneSetSpec is the inverse.
func Convert_apps_CloneSetSpec_To_v1beta1_CloneSetSpec(in *apps.CloneSetSpec, out *CloneSetSpec, s conversion.Scope) error {
	if err := autoConvert_apps_CloneSetSpec_To_v1beta1_CloneSetSpec(in, out, s); err != nil {
		return err
	}
	out.VolumeClaimTemplates = apps.ClaimsFromHub(in.VolumeClaimTemplates)
	return nil
}
