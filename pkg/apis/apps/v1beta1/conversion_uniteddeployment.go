package v1beta1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1beta1_StatefulSetTemplateSpec_To_apps_StatefulSetTemplateSpec takes apiVersion and
// kind off the claim templates.
func Convert_v1beta1_StatefulSetTemplateSpec_To_apps_StatefulSetTemplateSpec(
	in *StatefulSetTemplateSpec, out *apps.StatefulSetTemplateSpec, _ conversion.Scope,
) error {
	out.ObjectMeta, out.Spec = in.ObjectMeta, in.Spec
	out.Spec.VolumeClaimTemplates = apps.ClaimsToHub(in.Spec.VolumeClaimTemplates)
	return nil
}

// Convert_apps_StatefulSetTemplateSpec_To_v1beta1_StatefulSetTemplateSpec is the inverse.
func Convert_apps_StatefulSetTemplateSpec_To_v1beta1_StatefulSetTemplateSpec(
	in *apps.StatefulSetTemplateSpec, out *StatefulSetTemplateSpec, _ conversion.Scope,
) error {
	out.ObjectMeta, out.Spec = in.ObjectMeta, in.Spec
	out.Spec.VolumeClaimTemplates = apps.ClaimsFromHub(in.Spec.VolumeClaimTemplates)
	return nil
}
