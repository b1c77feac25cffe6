package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// The CloneSet of a v1alpha1 UnitedDeployment is one of v1alpha1, settings in metadata included.
func TestCloneSetOfAUnitedDeployment(t *testing.T) {
	alpha := &v1alpha1.UnitedDeployment{}
	alpha.Spec.Template.CloneSetTemplate = &v1alpha1.CloneSetTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"a": "b", pub.CloneSetScalingExcludePreparingDeleteKey: "true"},
			Annotations: map[string]string{pub.ImagePreDownloadTimeoutSecondsKey: "60"},
		},
		Spec: v1alpha1.CloneSetSpec{
			ScaleStrategy: v1alpha1.CloneSetScaleStrategy{DisablePVCReuse: true},
			UpdateStrategy: v1alpha1.CloneSetUpdateStrategy{
				Type: "InPlaceOnly", MaxUnavailable: new(intstr.FromInt32(2)), InPlaceUpdateStrategy: &pub.InPlaceUpdateStrategy{},
			},
		},
	}
	before := alpha.DeepCopy()
	beta := throughHub[v1alpha1.UnitedDeployment, v1beta1.UnitedDeployment](t, alpha, &apps.UnitedDeployment{})
	require.Equal(t, before, alpha, "conversion must not change what it reads")

	set := beta.Spec.Template.CloneSetTemplate
	require.Equal(t, "b", set.Labels["a"])
	require.True(t, set.Spec.ScaleStrategy.ExcludePreparingDelete)
	require.False(t, set.Spec.ScaleStrategy.EnablePVCReuse)
	require.EqualValues(t, "RollingUpdate", set.Spec.UpdateStrategy.Type)
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	require.Equal(t, pub.InPlaceOnlyPodUpdatePolicy, rolling.PodUpdatePolicy)
	require.Equal(t, intstr.FromInt32(2), *rolling.MaxUnavailable)
	require.Equal(t, int32(60), *rolling.InPlaceUpdateStrategy.ImagePreDownloadTimeoutSeconds)
	require.Equal(t, alpha, throughHub[v1beta1.UnitedDeployment, v1alpha1.UnitedDeployment](t, beta, &apps.UnitedDeployment{}))
}

func TestClaimsOfAUnitedDeployment(t *testing.T) {
	typed := metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
	claims := []corev1.PersistentVolumeClaim{{TypeMeta: typed, ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	alpha := &v1alpha1.UnitedDeployment{}
	template := &alpha.Spec.Template
	template.StatefulSetTemplate = &v1alpha1.StatefulSetTemplateSpec{}
	template.StatefulSetTemplate.Spec.VolumeClaimTemplates = claims
	template.AdvancedStatefulSetTemplate = &v1alpha1.AdvancedStatefulSetTemplateSpec{}
	template.AdvancedStatefulSetTemplate.Spec.VolumeClaimTemplates = claims
	template.AdvancedStatefulSetTemplate.Spec.ReserveOrdinals = []intstr.IntOrString{intstr.FromString("1-2")}
	template.CloneSetTemplate = &v1alpha1.CloneSetTemplateSpec{}
	template.CloneSetTemplate.Spec.VolumeClaimTemplates = claims

	hub := &apps.UnitedDeployment{}
	beta := throughHub[v1alpha1.UnitedDeployment, v1beta1.UnitedDeployment](t, alpha, hub)
	require.Empty(t, hub.Spec.Template.StatefulSetTemplate.Spec.VolumeClaimTemplates[0].TypeMeta)
	require.Empty(t, hub.Spec.Template.AdvancedStatefulSetTemplate.Spec.VolumeClaimTemplates[0].TypeMeta)
	require.Empty(t, hub.Spec.Template.CloneSetTemplate.Spec.VolumeClaimTemplates[0].TypeMeta)
	require.Equal(t, claims, beta.Spec.Template.StatefulSetTemplate.Spec.VolumeClaimTemplates)
	require.Equal(t, claims, beta.Spec.Template.AdvancedStatefulSetTemplate.Spec.VolumeClaimTemplates)
	require.Equal(t, intstr.FromString("1-2"), beta.Spec.Template.AdvancedStatefulSetTemplate.Spec.ReserveOrdinals[0])

	hub = &apps.UnitedDeployment{}
	require.Equal(t, alpha, throughHub[v1beta1.UnitedDeployment, v1alpha1.UnitedDeployment](t, beta, hub))
	require.Empty(t, hub.Spec.Template.StatefulSetTemplate.Spec.VolumeClaimTemplates[0].TypeMeta)
}
