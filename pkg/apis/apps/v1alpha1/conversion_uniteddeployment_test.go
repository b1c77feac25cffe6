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

// The maps of the status are only in v1alpha1. The other version has the same in the list of subsets.
func TestStatusOfAUnitedDeployment(t *testing.T) {
	alpha := &v1alpha1.UnitedDeployment{}
	alpha.Status = v1alpha1.UnitedDeploymentStatus{
		CurrentRevision: "web-1", SubsetReplicas: map[string]int32{"a": 2, "b": 0},
		SubsetStatuses: []v1alpha1.UnitedDeploymentSubsetStatus{{Name: "b"}, {Name: "a", Replicas: 2, ReadyReplicas: 1, Partition: 1}},
		UpdateStatus:   &v1alpha1.UpdateStatus{UpdatedRevision: "web-2", CurrentPartitions: map[string]int32{"a": 1, "b": 0}},
	}
	beta := throughHub[v1alpha1.UnitedDeployment, v1beta1.UnitedDeployment](t, alpha, &apps.UnitedDeployment{})
	require.Equal(t, v1beta1.UnitedDeploymentStatus{
		CurrentRevision: "web-1", UpdatedRevision: "web-2",
		SubsetStatuses: []v1beta1.UnitedDeploymentSubsetStatus{{Name: "b"}, {Name: "a", Replicas: 2, ReadyReplicas: 1, Partition: 1}},
	}, beta.Status)
	require.Equal(t, alpha, throughHub[v1beta1.UnitedDeployment, v1alpha1.UnitedDeployment](t, beta, &apps.UnitedDeployment{}))

	alpha.Status.SubsetStatuses = nil // As an older controller leaves it.
	beta = throughHub[v1alpha1.UnitedDeployment, v1beta1.UnitedDeployment](t, alpha, &apps.UnitedDeployment{})
	require.Equal(t, []v1beta1.UnitedDeploymentSubsetStatus{{Name: "a", Replicas: 2, Partition: 1}, {Name: "b"}}, beta.Status.SubsetStatuses)

	alpha = &v1alpha1.UnitedDeployment{}
	beta = throughHub[v1alpha1.UnitedDeployment, v1beta1.UnitedDeployment](t, alpha, &apps.UnitedDeployment{})
	require.Equal(t, alpha, throughHub[v1beta1.UnitedDeployment, v1alpha1.UnitedDeployment](t, beta, &apps.UnitedDeployment{}))
}

// Clients with newer types write the template of a v1alpha1 UnitedDeployment with the fields of v1beta1. They read back what they wrote,
// and it means the same as in v1beta1.
func TestCloneSetTemplateInTheFormOfV1beta1(t *testing.T) {
	alpha := &v1alpha1.UnitedDeployment{}
	alpha.Spec.Template.CloneSetTemplate = &v1alpha1.CloneSetTemplateSpec{Spec: v1alpha1.CloneSetSpec{
		ScaleStrategy: v1alpha1.CloneSetScaleStrategy{EnablePVCReuse: true, ExcludePreparingDelete: true},
		UpdateStrategy: v1alpha1.CloneSetUpdateStrategy{Type: "RollingUpdate", RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
			PodUpdatePolicy: "InPlaceOnly", MaxUnavailable: new(intstr.FromInt32(2)), Paused: true,
			InPlaceUpdateStrategy: &v1beta1.InPlaceUpdateStrategy{ImagePreDownloadTimeoutSeconds: new(int32(60))},
		}},
	}}
	beta := throughHub[v1alpha1.UnitedDeployment, v1beta1.UnitedDeployment](t, alpha, &apps.UnitedDeployment{})
	written := &alpha.Spec.Template.CloneSetTemplate.Spec
	set := beta.Spec.Template.CloneSetTemplate
	require.Equal(t, v1beta1.CloneSetScaleStrategy{EnablePVCReuse: true, ExcludePreparingDelete: true}, set.Spec.ScaleStrategy)
	require.EqualValues(t, "RollingUpdate", set.Spec.UpdateStrategy.Type)
	require.Equal(t, written.UpdateStrategy.RollingUpdate, set.Spec.UpdateStrategy.RollingUpdate)

	back := throughHub[v1beta1.UnitedDeployment, v1alpha1.UnitedDeployment](t, beta, &apps.UnitedDeployment{})
	require.Equal(t, alpha.Spec, back.Spec)

	t.Run("a template without a field of either form keeps it", func(t *testing.T) {
		emptied := back.DeepCopy()
		emptied.Spec.Template.CloneSetTemplate.Spec = v1alpha1.CloneSetSpec{}
		beta := throughHub[v1alpha1.UnitedDeployment, v1beta1.UnitedDeployment](t, emptied, &apps.UnitedDeployment{})
		require.False(t, beta.Spec.Template.CloneSetTemplate.Spec.ScaleStrategy.EnablePVCReuse)
		require.Equal(t, back.Annotations, beta.Annotations)
	})
	t.Run("a template in the form of v1alpha1 ends it", func(t *testing.T) {
		rewritten := back.DeepCopy()
		rewritten.Spec.Template.CloneSetTemplate.Spec = v1alpha1.CloneSetSpec{
			UpdateStrategy: v1alpha1.CloneSetUpdateStrategy{Type: "InPlaceIfPossible", MaxUnavailable: new(intstr.FromInt32(3))},
		}
		beta := throughHub[v1alpha1.UnitedDeployment, v1beta1.UnitedDeployment](t, rewritten, &apps.UnitedDeployment{})
		require.Empty(t, beta.Annotations)
		require.Equal(t, intstr.FromInt32(3), *beta.Spec.Template.CloneSetTemplate.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable)
		again := throughHub[v1beta1.UnitedDeployment, v1alpha1.UnitedDeployment](t, beta, &apps.UnitedDeployment{})
		require.Equal(t, rewritten.Spec, again.Spec)
	})
}

// A v1alpha1 CloneSet with the block of v1beta1 means the same, and is shown in the fields of v1alpha1.
func TestCloneSetInTheFormOfV1beta1(t *testing.T) {
	for name, test := range map[string]struct {
		written v1alpha1.CloneSetUpdateStrategy
		want    v1alpha1.CloneSetUpdateStrategy
	}{
		"the block alone": {
			v1alpha1.CloneSetUpdateStrategy{Type: "RollingUpdate", RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
				PodUpdatePolicy: "InPlaceIfPossible", Partition: new(intstr.FromInt32(1)),
			}},
			v1alpha1.CloneSetUpdateStrategy{Type: "InPlaceIfPossible", Partition: new(intstr.FromInt32(1))},
		},
		"fields beside the block": {
			v1alpha1.CloneSetUpdateStrategy{
				Type: "InPlaceOnly", Partition: new(intstr.FromInt32(7)), MaxSurge: new(intstr.FromInt32(2)), Paused: true,
				ScatterStrategy: []pub.UpdateScatterTerm{{Key: "a", Value: "b"}},
				RollingUpdate:   &v1beta1.RollingUpdateCloneSetStrategy{Partition: new(intstr.FromInt32(1))},
			},
			v1alpha1.CloneSetUpdateStrategy{
				Type: "InPlaceOnly", Partition: new(intstr.FromInt32(1)), MaxSurge: new(intstr.FromInt32(2)), Paused: true,
				ScatterStrategy: []pub.UpdateScatterTerm{{Key: "a", Value: "b"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := &v1alpha1.CloneSet{Spec: v1alpha1.CloneSetSpec{UpdateStrategy: test.written}}
			beta := throughHub[v1alpha1.CloneSet, v1beta1.CloneSet](t, set, &apps.CloneSet{})
			back := throughHub[v1beta1.CloneSet, v1alpha1.CloneSet](t, beta, &apps.CloneSet{})
			require.Equal(t, test.want, back.Spec.UpdateStrategy)
			require.Empty(t, back.Annotations)
		})
	}
}
