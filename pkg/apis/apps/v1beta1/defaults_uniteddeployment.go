package v1beta1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// SetDefaults_UnitedDeploymentSpec fills the fields of a UnitedDeployment. It covers the whole
// spec so that nothing here touches the templates: their fields are those of the workloads, which
// have defaults of their own, and Pod templates are defaulted when a user writes them.
// +k8s:defaulter-gen=covers
func SetDefaults_UnitedDeploymentSpec(in *UnitedDeploymentSpec) {
	if in.Replicas == nil && !in.Topology.addsUp() {
		in.Replicas = ptr.To[int32](1)
	}
	if in.RevisionHistoryLimit == nil {
		in.RevisionHistoryLimit = ptr.To[int32](10)
	}
	if in.UpdateStrategy.Type == "" {
		in.UpdateStrategy.Type = ManualUpdateStrategyType
	}
	if in.UpdateStrategy.Type == ManualUpdateStrategyType && in.UpdateStrategy.ManualUpdate == nil {
		in.UpdateStrategy.ManualUpdate = &ManualUpdate{}
	}
	SetDefaults_Topology(&in.Topology)
}

// SetDefaults_Topology fills the fields of a topology. Once one subset has a bound, all have a
// lower one.
func SetDefaults_Topology(in *Topology) {
	bounded := false
	for i := range in.Subsets {
		bounded = bounded || in.Subsets[i].MinReplicas != nil || in.Subsets[i].MaxReplicas != nil
	}
	for i := range in.Subsets {
		if bounded && in.Subsets[i].MinReplicas == nil {
			in.Subsets[i].MinReplicas = new(intstr.FromInt32(0))
		}
	}
	strategy := &in.ScheduleStrategy
	if strategy.Type == "" {
		strategy.Type = FixedUnitedDeploymentScheduleStrategyType
	}
	if strategy.Type != AdaptiveUnitedDeploymentScheduleStrategyType {
		return
	}
	if strategy.Adaptive == nil {
		strategy.Adaptive = &AdaptiveUnitedDeploymentStrategy{}
	}
	if strategy.Adaptive.RescheduleCriticalSeconds == nil {
		strategy.Adaptive.RescheduleCriticalSeconds = ptr.To[int32](30)
	}
	if strategy.Adaptive.UnschedulableDuration == nil {
		strategy.Adaptive.UnschedulableDuration = ptr.To[int32](300)
	}
}

// addsUp tells whether each subset has a number of replicas, so that their sum is the total.
func (in *Topology) addsUp() bool {
	for i := range in.Subsets {
		if replicas := in.Subsets[i].Replicas; replicas == nil || replicas.Type != intstr.Int {
			return false
		}
	}
	return len(in.Subsets) > 0
}
