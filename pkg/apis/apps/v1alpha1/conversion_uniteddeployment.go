package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Convert_v1alpha1_StatefulSetTemplateSpec_To_apps_StatefulSetTemplateSpec takes apiVersion and
// kind off the claim templates.
func Convert_v1alpha1_StatefulSetTemplateSpec_To_apps_StatefulSetTemplateSpec(
	in *StatefulSetTemplateSpec, out *apps.StatefulSetTemplateSpec, _ conversion.Scope,
) error {
	out.ObjectMeta, out.Spec = in.ObjectMeta, in.Spec
	out.Spec.VolumeClaimTemplates = apps.ClaimsToHub(in.Spec.VolumeClaimTemplates)
	return nil
}

// Convert_apps_StatefulSetTemplateSpec_To_v1alpha1_StatefulSetTemplateSpec is the inverse.
func Convert_apps_StatefulSetTemplateSpec_To_v1alpha1_StatefulSetTemplateSpec(
	in *apps.StatefulSetTemplateSpec, out *StatefulSetTemplateSpec, _ conversion.Scope,
) error {
	out.ObjectMeta, out.Spec = in.ObjectMeta, in.Spec
	out.Spec.VolumeClaimTemplates = apps.ClaimsFromHub(in.Spec.VolumeClaimTemplates)
	return nil
}

// Convert_v1alpha1_AdvancedStatefulSetTemplateSpec_To_apps_AdvancedStatefulSetTemplateSpec takes
// the conversion of v1beta1, whose spec it has.
func Convert_v1alpha1_AdvancedStatefulSetTemplateSpec_To_apps_AdvancedStatefulSetTemplateSpec(
	in *AdvancedStatefulSetTemplateSpec, out *apps.AdvancedStatefulSetTemplateSpec, s conversion.Scope,
) error {
	out.ObjectMeta = in.ObjectMeta
	return v1beta1.Convert_v1beta1_StatefulSetSpec_To_apps_StatefulSetSpec(&in.Spec, &out.Spec, s)
}

// Convert_apps_AdvancedStatefulSetTemplateSpec_To_v1alpha1_AdvancedStatefulSetTemplateSpec is the
// inverse.
func Convert_apps_AdvancedStatefulSetTemplateSpec_To_v1alpha1_AdvancedStatefulSetTemplateSpec(
	in *apps.AdvancedStatefulSetTemplateSpec, out *AdvancedStatefulSetTemplateSpec, s conversion.Scope,
) error {
	out.ObjectMeta = in.ObjectMeta
	return v1beta1.Convert_apps_StatefulSetSpec_To_v1beta1_StatefulSetSpec(&in.Spec, &out.Spec, s)
}

// Convert_v1alpha1_CloneSetTemplateSpec_To_apps_CloneSetTemplateSpec converts the template like a
// CloneSet, because its metadata contains settings that the hub has as fields.
func Convert_v1alpha1_CloneSetTemplateSpec_To_apps_CloneSetTemplateSpec(
	in *CloneSetTemplateSpec, out *apps.CloneSetTemplateSpec, s conversion.Scope,
) error {
	hub := &apps.CloneSet{}
	if err := Convert_v1alpha1_CloneSet_To_apps_CloneSet(&CloneSet{ObjectMeta: in.ObjectMeta, Spec: in.Spec}, hub, s); err != nil {
		return err
	}
	out.ObjectMeta, out.Spec = hub.ObjectMeta, hub.Spec
	return nil
}

// Convert_apps_CloneSetTemplateSpec_To_v1alpha1_CloneSetTemplateSpec is the inverse.
func Convert_apps_CloneSetTemplateSpec_To_v1alpha1_CloneSetTemplateSpec(
	in *apps.CloneSetTemplateSpec, out *CloneSetTemplateSpec, s conversion.Scope,
) error {
	shown := &CloneSet{}
	if err := Convert_apps_CloneSet_To_v1alpha1_CloneSet(&apps.CloneSet{ObjectMeta: in.ObjectMeta, Spec: in.Spec}, shown, s); err != nil {
		return err
	}
	out.ObjectMeta, out.Spec = shown.ObjectMeta, shown.Spec
	return nil
}
