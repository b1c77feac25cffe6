package apps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

func unitedDeploymentKind(t *testing.T) *rest.Kind[*apps.UnitedDeployment] {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	kind, ok := unitedDeployment(gate).(*rest.Kind[*apps.UnitedDeployment])
	require.True(t, ok)
	return kind
}

func TestUnitedDeploymentColumns(t *testing.T) {
	kind := unitedDeploymentKind(t)
	united := &apps.UnitedDeployment{
		Spec:   apps.UnitedDeploymentSpec{Replicas: ptr.To[int32](5)},
		Status: apps.UnitedDeploymentStatus{Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2},
	}
	narrow, wide := cells(kind, united)
	assert.Equal(t, []string{"DESIRED 5", "CURRENT 4", "UPDATED 3", "READY 2", "AGE <unknown>"}, narrow)
	assert.Empty(t, wide)
	assert.Equal(t, []string{"ud"}, kind.Short)
}

func TestUnitedDeploymentScale(t *testing.T) {
	scale := unitedDeploymentKind(t).Scale
	two, three := new(intstr.FromInt32(2)), new(intstr.FromInt32(3))
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	united := &apps.UnitedDeployment{
		Spec:   apps.UnitedDeploymentSpec{Selector: selector, Topology: apps.Topology{Subsets: []apps.Subset{{Replicas: two}, {Replicas: three}}}},
		Status: apps.UnitedDeploymentStatus{Replicas: 4},
	}
	assert.Equal(t, int32(5), scale.Replicas(united), "the sum of the subsets")
	scale.SetReplicas(united, 7)
	assert.Equal(t, int32(7), scale.Replicas(united))
	assert.Equal(t, int32(4), scale.Current(united))
	assert.Equal(t, selector, scale.Selector(united))

	united.Status.LabelSelector = "a=b,apps.kruise.io/united-deployment-reserved-pod=false"
	published, err := metav1.LabelSelectorAsSelector(scale.Selector(united))
	require.NoError(t, err)
	assert.Equal(t, united.Status.LabelSelector, published.String())
	united.Status.LabelSelector = "is no selector, is it"
	assert.Equal(t, selector, scale.Selector(united))
}

func TestUnitedDeploymentWarnings(t *testing.T) {
	twice := corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b", Env: []corev1.EnvVar{{Name: "A"}, {Name: "A"}}}}}
	set, advanced := &apps.StatefulSetTemplateSpec{}, &apps.AdvancedStatefulSetTemplateSpec{}
	cloneSet, deployment := &apps.CloneSetTemplateSpec{}, &apps.DeploymentTemplateSpec{}
	set.Spec.Template.Spec, advanced.Spec.Template.Spec = twice, twice
	cloneSet.Spec.Template.Spec, deployment.Spec.Template.Spec = twice, twice
	warn := unitedDeploymentKind(t).Warnings
	for name, template := range map[string]apps.SubsetTemplate{
		"statefulSetTemplate": {StatefulSetTemplate: set}, "advancedStatefulSetTemplate": {AdvancedStatefulSetTemplate: advanced},
		"cloneSetTemplate": {CloneSetTemplate: cloneSet}, "deploymentTemplate": {DeploymentTemplate: deployment},
	} {
		united := &apps.UnitedDeployment{Spec: apps.UnitedDeploymentSpec{Template: template}}
		warnings := warn(t.Context(), united, nil)
		require.Len(t, warnings, 1, name)
		assert.Contains(t, warnings[0], "spec.template."+name+".spec.template.spec.containers[0].env[1]")
		changed := united.DeepCopy()
		changed.Generation++
		assert.Len(t, warn(t.Context(), changed, united), 1, name)
		assert.Empty(t, warn(t.Context(), united, united), "%s: the spec has not changed", name)
	}
	assert.Empty(t, warn(t.Context(), &apps.UnitedDeployment{}, nil))
}
