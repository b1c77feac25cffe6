package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1alpha1_StatefulSet_To_apps_StatefulSet restores the fields in the annotation
// KeptFieldsAnnotation.
func Convert_v1alpha1_StatefulSet_To_apps_StatefulSet(in *StatefulSet, out *apps.StatefulSet, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_StatefulSet_To_apps_StatefulSet(in, out, s); err != nil {
		return err
	}
	return restoreStatefulSet(out, s)
}

// Convert_apps_StatefulSet_To_v1alpha1_StatefulSet is the inverse.
func Convert_apps_StatefulSet_To_v1alpha1_StatefulSet(in *apps.StatefulSet, out *StatefulSet, s conversion.Scope) error {
	if err := autoConvert_apps_StatefulSet_To_v1alpha1_StatefulSet(in, out, s); err != nil {
		return err
	}
	return keepStatefulSet(in, out, s)
}

// Convert_v1alpha1_StatefulSetSpec_To_apps_StatefulSetSpec takes apiVersion and kind off the
// claim templates.
func Convert_v1alpha1_StatefulSetSpec_To_apps_StatefulSetSpec(in *StatefulSetSpec, out *apps.StatefulSetSpec, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_StatefulSetSpec_To_apps_StatefulSetSpec(in, out, s); err != nil {
		return err
	}
	out.VolumeClaimTemplates = apps.ClaimsToHub(in.VolumeClaimTemplates)
	return nil
}

// Convert_apps_StatefulSetSpec_To_v1alpha1_StatefulSetSpec is the inverse. It skips fields that v1alpha1
// does not have.
func Convert_apps_StatefulSetSpec_To_v1alpha1_StatefulSetSpec(in *apps.StatefulSetSpec, out *StatefulSetSpec, s conversion.Scope) error {
	if err := autoConvert_apps_StatefulSetSpec_To_v1alpha1_StatefulSetSpec(in, out, s); err != nil {
		return err
	}
	out.VolumeClaimTemplates = apps.ClaimsFromHub(in.VolumeClaimTemplates)
	return nil
}

// Convert_apps_StatefulSetStatus_To_v1alpha1_StatefulSetStatus skips fields that v1alpha1 does not have.
func Convert_apps_StatefulSetStatus_To_v1alpha1_StatefulSetStatus(
	in *apps.StatefulSetStatus, out *StatefulSetStatus, s conversion.Scope,
) error {
	return autoConvert_apps_StatefulSetStatus_To_v1alpha1_StatefulSetStatus(in, out, s)
}
