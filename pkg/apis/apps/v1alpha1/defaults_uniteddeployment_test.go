package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

func TestUnitedDeploymentDefaults(t *testing.T) {
	type spec = v1alpha1.UnitedDeploymentSpec
	two := new(intstr.FromInt32(2))
	subsets := func(written ...v1alpha1.Subset) func(*spec) {
		return func(s *spec) { s.Topology.Subsets = written }
	}
	replicas := func(s *spec) any { return s.Replicas }
	cases := map[string]struct {
		change func(*spec)
		get    func(*spec) any
		want   any
	}{
		"replicas":                           {nil, replicas, ptr.To[int32](1)},
		"replicas kept":                      {func(s *spec) { s.Replicas = ptr.To[int32](0) }, replicas, ptr.To[int32](0)},
		"replicas of subsets that add up":    {subsets(v1alpha1.Subset{Replicas: two}, v1alpha1.Subset{Replicas: two}), replicas, (*int32)(nil)},
		"replicas where one subset has none": {subsets(v1alpha1.Subset{Replicas: two}, v1alpha1.Subset{}), replicas, ptr.To[int32](1)},
		"replicas where one is a percentage": {subsets(v1alpha1.Subset{Replicas: new(intstr.FromString("50%"))}), replicas, ptr.To[int32](1)},
		"revisionHistoryLimit":               {nil, func(s *spec) any { return *s.RevisionHistoryLimit }, int32(10)},
		"updateStrategy":                     {nil, func(s *spec) any { return s.UpdateStrategy.Type }, v1alpha1.ManualUpdateStrategyType},
		"manualUpdate":                       {nil, func(s *spec) any { return s.UpdateStrategy.ManualUpdate }, &v1alpha1.ManualUpdate{}},
		"manualUpdate kept": {
			func(s *spec) {
				s.UpdateStrategy.ManualUpdate = &v1alpha1.ManualUpdate{Partitions: map[string]int32{"a": 1}}
			},
			func(s *spec) any { return s.UpdateStrategy.ManualUpdate }, &v1alpha1.ManualUpdate{Partitions: map[string]int32{"a": 1}},
		},
		"manualUpdate of another type": {
			func(s *spec) { s.UpdateStrategy.Type = "Other" }, func(s *spec) any { return s.UpdateStrategy.ManualUpdate }, (*v1alpha1.ManualUpdate)(nil),
		},
		"scheduleStrategy": {nil, func(s *spec) any { return s.Topology.ScheduleStrategy }, v1alpha1.UnitedDeploymentScheduleStrategy{Type: "Fixed"}},
		"scheduleStrategy Adaptive": {
			func(s *spec) { s.Topology.ScheduleStrategy.Type = "Adaptive" },
			func(s *spec) any { return s.Topology.ScheduleStrategy.Adaptive },
			&v1alpha1.AdaptiveUnitedDeploymentStrategy{RescheduleCriticalSeconds: ptr.To[int32](30), UnschedulableDuration: ptr.To[int32](300)},
		},
		"scheduleStrategy Adaptive kept": {
			func(s *spec) {
				s.Topology.ScheduleStrategy = v1alpha1.UnitedDeploymentScheduleStrategy{
					Type:     "Adaptive",
					Adaptive: &v1alpha1.AdaptiveUnitedDeploymentStrategy{RescheduleCriticalSeconds: ptr.To[int32](5), ReserveUnschedulablePods: true},
				}
			},
			func(s *spec) any { return s.Topology.ScheduleStrategy.Adaptive },
			&v1alpha1.AdaptiveUnitedDeploymentStrategy{
				RescheduleCriticalSeconds: ptr.To[int32](5), UnschedulableDuration: ptr.To[int32](300), ReserveUnschedulablePods: true,
			},
		},
		"no bounds": {
			subsets(v1alpha1.Subset{}, v1alpha1.Subset{}), func(s *spec) any { return s.Topology.Subsets[0].MinReplicas }, (*intstr.IntOrString)(nil),
		},
		"minReplicas once there is a bound": {
			subsets(v1alpha1.Subset{}, v1alpha1.Subset{MaxReplicas: two}),
			func(s *spec) any {
				return []intstr.IntOrString{*s.Topology.Subsets[0].MinReplicas, *s.Topology.Subsets[1].MinReplicas}
			},
			[]intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(0)},
		},
		"minReplicas kept": {
			subsets(v1alpha1.Subset{MinReplicas: two}), func(s *spec) any { return s.Topology.Subsets[0].MinReplicas }, two,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := &v1alpha1.UnitedDeployment{}
			if test.change != nil {
				test.change(&written.Spec)
			}
			newScheme(t).Default(written)
			require.Equal(t, test.want, test.get(&written.Spec))
			again := written.DeepCopy()
			newScheme(t).Default(again)
			require.Equal(t, written, again, "defaulting twice must change nothing")
		})
	}
}

// Workloads have defaults of their own when they are created: here replicas and partition would be
// filled, which no template may have.
func TestUnitedDeploymentDefaultsLeaveTemplatesAlone(t *testing.T) {
	containers := []corev1.Container{{Name: "a", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
	written := &v1alpha1.UnitedDeployment{}
	template := &written.Spec.Template
	template.StatefulSetTemplate = &v1alpha1.StatefulSetTemplateSpec{}
	template.StatefulSetTemplate.Spec.Template.Spec.Containers = containers
	template.AdvancedStatefulSetTemplate = &v1alpha1.AdvancedStatefulSetTemplateSpec{}
	template.AdvancedStatefulSetTemplate.Spec.Template.Spec.Containers = containers
	template.CloneSetTemplate = &v1alpha1.CloneSetTemplateSpec{}
	template.CloneSetTemplate.Spec.Template.Spec.Containers = containers
	template.DeploymentTemplate = &v1alpha1.DeploymentTemplateSpec{}
	template.DeploymentTemplate.Spec.Template.Spec.Containers = containers
	stored := written.DeepCopy()
	newScheme(t).Default(written)
	require.Equal(t, stored.Spec.Template, written.Spec.Template)
}
