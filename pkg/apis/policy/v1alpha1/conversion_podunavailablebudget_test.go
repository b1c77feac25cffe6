package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/install"
	"kruise.io/kruise/pkg/apis/policy/v1alpha1"
	"kruise.io/kruise/pkg/apis/pub"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	return scheme
}

// What v1alpha1 says in annotations is in the hub's fields, and the annotations stay.
func TestAnnotationsBecomeFields(t *testing.T) {
	tests := map[string]struct {
		annotations map[string]string
		operations  []policy.PubOperation
		total       *int32
	}{
		"none":           {},
		"operations":     {map[string]string{pub.PubProtectOperationsKey: "EVICT,DELETE"}, []policy.PubOperation{"EVICT", "DELETE"}, nil},
		"total":          {map[string]string{pub.PubProtectTotalReplicasKey: "15"}, nil, ptr.To[int32](15)},
		"unusual total":  {map[string]string{pub.PubProtectTotalReplicasKey: "015"}, nil, ptr.To[int32](15)},
		"total 0":        {map[string]string{pub.PubProtectTotalReplicasKey: "0"}, nil, nil},
		"empty":          {map[string]string{pub.PubProtectOperationsKey: "", pub.PubProtectTotalReplicasKey: ""}, nil, nil},
		"what is no one": {map[string]string{pub.PubProtectOperationsKey: "CREATE", pub.PubProtectTotalReplicasKey: "many"}, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			scheme := newScheme(t)
			written := &v1alpha1.PodUnavailableBudget{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}}
			hub, back := &policy.PodUnavailableBudget{}, &v1alpha1.PodUnavailableBudget{}
			require.NoError(t, scheme.Convert(written, hub, nil))
			assert.Equal(t, test.operations, hub.Spec.ProtectOperations)
			assert.Equal(t, test.total, hub.Spec.ProtectTotalReplicas)
			assert.Equal(t, test.annotations, hub.Annotations)
			require.NoError(t, scheme.Convert(hub, back, nil))
			assert.Equal(t, written, back)
		})
	}
}

// What only v1beta1 can say survives a write through v1alpha1.
func TestFieldsOfTheNewerVersionAreKept(t *testing.T) {
	scheme := newScheme(t)
	hub := &policy.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"mine": "x"}},
		Spec: policy.PodUnavailableBudgetSpec{
			ProtectOperations: []policy.PubOperation{"DELETE"}, ProtectTotalReplicas: ptr.To[int32](15),
			IgnoredPodSelector:         &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			UnhealthyPodEvictionPolicy: new(policy.IfHealthyBudget),
		},
	}
	before := hub.DeepCopy()
	shown := &v1alpha1.PodUnavailableBudget{}
	require.NoError(t, scheme.Convert(hub, shown, nil))
	assert.Equal(t, before, hub, "what was converted stays as it is")
	assert.Equal(t, "DELETE", shown.Annotations[pub.PubProtectOperationsKey])
	assert.Equal(t, "15", shown.Annotations[pub.PubProtectTotalReplicasKey])

	back := &policy.PodUnavailableBudget{}
	require.NoError(t, scheme.Convert(shown, back, nil))
	assert.Equal(t, before, back)

	shown.Annotations[pub.PubProtectTotalReplicasKey] = "20"
	delete(shown.Annotations, pub.PubProtectOperationsKey)
	back = &policy.PodUnavailableBudget{}
	require.NoError(t, scheme.Convert(shown, back, nil))
	assert.Equal(t, ptr.To[int32](20), back.Spec.ProtectTotalReplicas)
	assert.Nil(t, back.Spec.ProtectOperations)
	assert.Equal(t, map[string]string{"mine": "x", pub.PubProtectTotalReplicasKey: "20"}, back.Annotations, "now it is the object's own")
	assert.Equal(t, before.Spec.IgnoredPodSelector, back.Spec.IgnoredPodSelector)
	assert.Equal(t, before.Spec.UnhealthyPodEvictionPolicy, back.Spec.UnhealthyPodEvictionPolicy)
}

// Each of what only v1beta1 can say is kept without the others too.
func TestEachFieldOfTheNewerVersionIsKept(t *testing.T) {
	for name, spec := range map[string]policy.PodUnavailableBudgetSpec{
		"protectOperations":    {ProtectOperations: []policy.PubOperation{"DELETE"}},
		"protectTotalReplicas": {ProtectTotalReplicas: ptr.To[int32](15)},
		"ignoredPodSelector":   {IgnoredPodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			scheme, hub := newScheme(t), &policy.PodUnavailableBudget{Spec: spec}
			shown, back := &v1alpha1.PodUnavailableBudget{}, &policy.PodUnavailableBudget{}
			require.NoError(t, scheme.Convert(hub, shown, nil))
			require.NoError(t, scheme.Convert(shown, back, nil))
			assert.Equal(t, hub.Spec, back.Spec)
			assert.Empty(t, back.Annotations)
		})
	}
}

// A field that differs from the annotation wins: v1beta1 changed it.
func TestFieldsOverruleAnnotations(t *testing.T) {
	hub := &policy.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{pub.PubProtectTotalReplicasKey: "15"}},
		Spec:       policy.PodUnavailableBudgetSpec{ProtectTotalReplicas: ptr.To[int32](16)},
	}
	shown := &v1alpha1.PodUnavailableBudget{}
	require.NoError(t, newScheme(t).Convert(hub, shown, nil))
	assert.Equal(t, map[string]string{pub.PubProtectTotalReplicasKey: "16"}, shown.Annotations)
}
