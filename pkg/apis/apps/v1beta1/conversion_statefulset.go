package v1beta1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1beta1_StatefulSetSpec_To_apps_StatefulSetSpec takes apiVersion and kind off the
// claim templates.
func Convert_v1beta1_StatefulSetSpec_To_apps_StatefulSetSpec(in *StatefulSetSpec, out *apps.StatefulSetSpec, s conversion.Scope) error {
	if err := autoConvert_v1beta1_StatefulSetSpec_To_apps_StatefulSetSpec(in, out, s); err != nil {
		return err
	}
	out.VolumeClaimTemplates = apps.ClaimsToHub(in.VolumeClaimTemplates)
	return nil
}

// Convert_apps_StatefulSetSpec_To_v1beta1_StatefulSetSpec is the inverse.
func Convert_apps_StatefulSetSpec_To_v1beta1_StatefulSetSpec(in *apps.StatefulSetSpec, out *StatefulSetSpec, s conversion.Scope) error {
	if err := autoConvert_apps_StatefulSetSpec_To_v1beta1_StatefulSetSpec(in, out, s); err != nil {
		return err
	}
	out.VolumeClaimTemplates = apps.ClaimsFromHub(in.VolumeClaimTemplates)
	return nil
}
