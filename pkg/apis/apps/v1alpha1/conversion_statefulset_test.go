package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// throughHub converts between two versions of a kind.
func throughHub[From, To any](t *testing.T, in *From, hub any) *To {
	t.Helper()
	scheme, out := newScheme(t), new(To)
	require.NoError(t, scheme.Convert(in, hub, nil))
	require.NoError(t, scheme.Convert(hub, out, nil))
	return out
}

func betaStatefulSet() *v1beta1.StatefulSet {
	return &v1beta1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}},
		Spec: v1beta1.StatefulSetSpec{
			ServiceName:               "web",
			VolumeClaimUpdateStrategy: v1beta1.VolumeClaimUpdateStrategy{Type: "OnPodRollingUpdate"},
			ReserveOrdinals:           []intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("3-5")},
			Lifecycle:                 &pub.Lifecycle{PreDelete: &pub.LifecycleHook{FinalizersHandler: []string{"a/b"}}},
			ScaleStrategy:             &v1beta1.StatefulSetScaleStrategy{MaxUnavailable: new(intstr.FromString("10%"))},
			PersistentVolumeClaimRetentionPolicy: &v1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: "Retain", WhenScaled: "Delete",
			},
			Ordinals: &v1beta1.StatefulSetOrdinals{Start: 2},
		},
		Status: v1beta1.StatefulSetStatus{
			ReadyReplicas: 1, UpdatedReadyReplicas: 2, UpdatedAvailableReplicas: 3,
			VolumeClaims: []v1beta1.VolumeClaimStatus{{VolumeClaimName: "data", CompatibleReplicas: 4, CompatibleReadyReplicas: 5}},
		},
	}
}

// Case statefulset 27: read through v1alpha1 an object with reserveOrdinals and write it back.
func TestStatefulSetKeepsFieldsThroughV1alpha1(t *testing.T) {
	beta := betaStatefulSet()
	alpha := throughHub[v1beta1.StatefulSet, v1alpha1.StatefulSet](t, beta, &apps.StatefulSet{})
	require.JSONEq(t, `{
		"spec":{
			"volumeClaimUpdateStrategy":{"type":"OnPodRollingUpdate"},"reserveOrdinals":[1,"3-5"],
			"lifecycle":{"preDelete":{"finalizersHandler":["a/b"]}},"scaleStrategy":{"maxUnavailable":"10%"},
			"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Delete"},"ordinals":{"start":2}
		}
	}`, alpha.Annotations[v1alpha1.KeptFieldsAnnotation])
	require.Equal(t, "b", alpha.Annotations["a"])
	require.Equal(t, "web", alpha.Spec.ServiceName)

	alpha.Spec.ServiceName = "changed"
	want := betaStatefulSet()
	want.Spec.ServiceName = "changed"
	want.Status = v1beta1.StatefulSetStatus{ReadyReplicas: 1}
	require.Equal(t, want, throughHub[v1alpha1.StatefulSet, v1beta1.StatefulSet](t, alpha, &apps.StatefulSet{}))
	require.Equal(t, betaStatefulSet(), beta, "conversion must not change what it reads")
}

func TestStatefulSetWithNothingToKeep(t *testing.T) {
	beta := &v1beta1.StatefulSet{Status: betaStatefulSet().Status}
	alpha := throughHub[v1beta1.StatefulSet, v1alpha1.StatefulSet](t, beta, &apps.StatefulSet{})
	require.Empty(t, alpha.Annotations)
	require.Equal(t, int32(1), alpha.Status.ReadyReplicas)
}

func TestStatefulSetWithAForeignAnnotation(t *testing.T) {
	alpha := &v1alpha1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.KeptFieldsAnnotation: "mine"}}}
	beta := throughHub[v1alpha1.StatefulSet, v1beta1.StatefulSet](t, alpha, &apps.StatefulSet{})
	require.Equal(t, "mine", beta.Annotations[v1alpha1.KeptFieldsAnnotation])
	require.Equal(t, v1beta1.StatefulSetSpec{}, beta.Spec)
}
