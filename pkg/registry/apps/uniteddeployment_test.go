package apps

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
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

// A change of the template would update the Pods of all subsets.
func TestUnitedDeploymentStaysWhenItIsWrittenAgain(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	strategy := unitedDeploymentKind(t).Strategy(scheme)
	manifest := &v1beta1.UnitedDeployment{}
	template := &v1beta1.CloneSetTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels:      map[string]string{pub.CloneSetScalingExcludePreparingDeleteKey: "true"},
		Annotations: map[string]string{pub.ImagePreDownloadParallelismKey: "5"},
	}}
	template.Spec.UpdateStrategy = v1beta1.CloneSetUpdateStrategy{
		Type: v1beta1.RollingUpdateCloneSetStrategyType,
		RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
			PodUpdatePolicy: pub.InPlaceIfPossiblePodUpdatePolicy, InPlaceUpdateStrategy: &v1beta1.InPlaceUpdateStrategy{},
		},
	}
	manifest.Spec.Template.CloneSetTemplate = template
	read := func(object runtime.Object) *apps.UnitedDeployment {
		hub := &apps.UnitedDeployment{}
		require.NoError(t, scheme.Convert(object.DeepCopyObject(), hub, nil))
		return hub
	}
	imported := read(manifest)
	imported.Generation = 1
	created := read(manifest)
	strategy.PrepareForCreate(t.Context(), created)
	assert.Equal(t, new(intstr.FromInt32(5)), created.Spec.Template.CloneSetTemplate.Spec.UpdateStrategy.RollingUpdate.
		InPlaceUpdateStrategy.ImagePreDownloadParallelism)

	for from, stored := range map[string]*apps.UnitedDeployment{"created": created, "imported": imported} {
		alpha, beta := &v1alpha1.UnitedDeployment{}, &v1beta1.UnitedDeployment{}
		require.NoError(t, scheme.Convert(stored, alpha, nil))
		require.NoError(t, scheme.Convert(stored, beta, nil))
		for form, written := range map[string]runtime.Object{"v1alpha1": alpha, "v1beta1": beta, "the manifest": manifest} {
			again := read(written)
			strategy.PrepareForUpdate(t.Context(), again, stored)
			assert.Equal(t, int64(1), again.Generation, "%s is written to the %s object", form, from)
			assert.Equal(t, stored.Spec.Template, again.Spec.Template)
		}
	}

	changed := read(manifest)
	changed.Spec.Template.CloneSetTemplate.Annotations[pub.ImagePreDownloadParallelismKey] = "6"
	strategy.PrepareForUpdate(t.Context(), changed, created)
	assert.Equal(t, int64(2), changed.Generation)
	assert.Equal(t, new(intstr.FromInt32(6)), changed.Spec.Template.CloneSetTemplate.Spec.UpdateStrategy.RollingUpdate.
		InPlaceUpdateStrategy.ImagePreDownloadParallelism)
}

// kubectl merges subsets by name, so a minReplicas of 0 that the server has added stays in a subset when its manifest changes.
func TestBoundsCanBeReplacedWithReplicas(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	strategy := unitedDeploymentKind(t).Strategy(scheme)
	zero, two, three, half := new(intstr.FromInt32(0)), new(intstr.FromInt32(2)), new(intstr.FromInt32(3)), new(intstr.FromString("50%"))
	inAlpha := func(a, b v1alpha1.Subset) runtime.Object {
		a.Name, b.Name = "a", "b"
		return &v1alpha1.UnitedDeployment{Spec: v1alpha1.UnitedDeploymentSpec{
			Replicas: new(int32(5)), Topology: v1alpha1.Topology{Subsets: []v1alpha1.Subset{a, b}},
		}}
	}
	inBeta := func(a, b v1beta1.Subset) runtime.Object {
		a.Name, b.Name = "a", "b"
		return &v1beta1.UnitedDeployment{Spec: v1beta1.UnitedDeploymentSpec{
			Replicas: new(int32(5)), Topology: v1beta1.Topology{Subsets: []v1beta1.Subset{a, b}},
		}}
	}
	for name, test := range map[string]struct {
		written runtime.Object
		minimum *intstr.IntOrString
		refused bool
	}{
		"v1alpha1":             {written: inAlpha(v1alpha1.Subset{Replicas: two}, v1alpha1.Subset{Replicas: three, MinReplicas: zero})},
		"v1beta1":              {written: inBeta(v1beta1.Subset{Replicas: two}, v1beta1.Subset{Replicas: three, MinReplicas: zero})},
		"in one subset":        {written: inBeta(v1beta1.Subset{Replicas: two}, v1beta1.Subset{MinReplicas: zero})},
		"without replicas":     {written: inBeta(v1beta1.Subset{}, v1beta1.Subset{MinReplicas: zero}), minimum: zero},
		"with an upper bound":  {inBeta(v1beta1.Subset{Replicas: two, MaxReplicas: two}, v1beta1.Subset{MinReplicas: zero}), zero, true},
		"with a lower bound":   {inBeta(v1beta1.Subset{Replicas: two}, v1beta1.Subset{MinReplicas: two}), two, true},
		"with a percentage":    {inBeta(v1beta1.Subset{Replicas: two}, v1beta1.Subset{MinReplicas: half}), half, true},
		"with replicas of one": {inBeta(v1beta1.Subset{MinReplicas: three}, v1beta1.Subset{Replicas: two, MinReplicas: zero}), zero, true},
	} {
		t.Run(name, func(t *testing.T) {
			scheme.Default(test.written)
			united, stored := &apps.UnitedDeployment{}, &apps.UnitedDeployment{}
			require.NoError(t, scheme.Convert(test.written, united, nil))
			strategy.PrepareForUpdate(t.Context(), united, stored)
			assert.Equal(t, test.minimum, united.Spec.Topology.Subsets[1].MinReplicas)
			refused := slices.ContainsFunc(strategy.ValidateUpdate(t.Context(), united, stored), func(err *field.Error) bool {
				return strings.HasPrefix(err.Field, "spec.topology")
			})
			assert.Equal(t, test.refused, refused)
		})
	}
}

// After the last bound is gone, the minReplicas of 0 that the server has added would put all Pods into the first subset.
func TestDefaultedMinReplicasAreRemovedWithTheLastBound(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	strategy := unitedDeploymentKind(t).Strategy(scheme)
	zero, two, half := new(intstr.FromInt32(0)), new(intstr.FromInt32(2)), new(intstr.FromString("50%"))
	united := func(a, b apps.Subset) *apps.UnitedDeployment {
		a.Name, b.Name = "a", "b"
		return &apps.UnitedDeployment{Spec: apps.UnitedDeploymentSpec{Replicas: new(int32(6)), Topology: apps.Topology{Subsets: []apps.Subset{a, b}}}}
	}
	for name, test := range map[string]struct {
		stored  apps.Subset
		now     apps.Subset
		minimum *intstr.IntOrString
	}{
		"of an upper bound": {apps.Subset{MinReplicas: zero, MaxReplicas: two}, apps.Subset{MinReplicas: zero}, nil},
		"of a lower bound":  {apps.Subset{MinReplicas: half}, apps.Subset{MinReplicas: zero}, nil},
		"of no bound":       {apps.Subset{MinReplicas: zero}, apps.Subset{MinReplicas: zero}, zero},
		"of one of two":     {apps.Subset{MinReplicas: half, MaxReplicas: half}, apps.Subset{MinReplicas: zero, MaxReplicas: half}, zero},
	} {
		t.Run(name, func(t *testing.T) {
			now := united(test.now, apps.Subset{MinReplicas: zero})
			strategy.PrepareForUpdate(t.Context(), now, united(test.stored, apps.Subset{MinReplicas: zero}))
			for _, subset := range now.Spec.Topology.Subsets {
				assert.Equal(t, test.minimum, subset.MinReplicas, subset.Name)
			}
		})
	}
}
