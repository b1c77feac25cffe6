package fuzzer

import (
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

var unitedDeployment = []any{
	fuzzUnitedDeploymentSpec, fuzzTopology, fuzzCloneSetTemplate, fuzzV1alpha1CloneSetTemplate, fuzzV1beta1CloneSetTemplate,
	fuzzV1alpha1UnitedDeploymentStatus,
}

func fuzzUnitedDeploymentSpec(spec *apps.UnitedDeploymentSpec, c randfill.Continue) {
	c.FillNoCustom(spec)
	spec.Replicas = new(ptr.Deref(spec.Replicas, 1))
	spec.RevisionHistoryLimit = new(ptr.Deref(spec.RevisionHistoryLimit, 10))
	spec.UpdateStrategy.Type = apps.ManualUpdateStrategyType
	spec.UpdateStrategy.ManualUpdate = new(ptr.Deref(spec.UpdateStrategy.ManualUpdate, apps.ManualUpdate{}))
}

// fuzzTopology bounds all subsets or none.
func fuzzTopology(topology *apps.Topology, c randfill.Continue) {
	c.FillNoCustom(topology)
	for i := range topology.Subsets {
		if topology.Subsets[i].MinReplicas == nil {
			for j := range topology.Subsets {
				topology.Subsets[j].MinReplicas, topology.Subsets[j].MaxReplicas = nil, nil
			}
			break
		}
	}
	strategy := &topology.ScheduleStrategy
	strategy.Type = apps.FixedUnitedDeploymentScheduleStrategyType
	if c.Bool() {
		strategy.Type = apps.AdaptiveUnitedDeploymentScheduleStrategyType
		adaptive := ptr.Deref(strategy.Adaptive, apps.AdaptiveUnitedDeploymentStrategy{})
		adaptive.RescheduleCriticalSeconds = new(ptr.Deref(adaptive.RescheduleCriticalSeconds, 30))
		adaptive.UnschedulableDuration = new(ptr.Deref(adaptive.UnschedulableDuration, 300))
		strategy.Adaptive = &adaptive
	}
}

// The three take what a CloneSet of the same version has, metadata included.
func fuzzCloneSetTemplate(template *apps.CloneSetTemplateSpec, c randfill.Continue) {
	set := &apps.CloneSet{}
	c.Fill(set)
	template.ObjectMeta, template.Spec = set.ObjectMeta, set.Spec
}

func fuzzV1alpha1CloneSetTemplate(template *v1alpha1.CloneSetTemplateSpec, c randfill.Continue) {
	set := &v1alpha1.CloneSet{}
	c.Fill(set)
	template.ObjectMeta, template.Spec = set.ObjectMeta, set.Spec
}

func fuzzV1beta1CloneSetTemplate(template *v1beta1.CloneSetTemplateSpec, c randfill.Continue) {
	set := &v1beta1.CloneSet{}
	c.Fill(set)
	template.ObjectMeta, template.Spec = set.ObjectMeta, set.Spec
}

// fuzzV1alpha1UnitedDeploymentStatus lists in its maps what the subsets have.
func fuzzV1alpha1UnitedDeploymentStatus(status *v1alpha1.UnitedDeploymentStatus, c randfill.Continue) {
	c.FillNoCustom(status)
	update := ptr.Deref(status.UpdateStatus, v1alpha1.UpdateStatus{})
	status.SubsetReplicas, status.UpdateStatus, update.CurrentPartitions = nil, nil, nil
	if len(status.SubsetStatuses) > 0 {
		status.SubsetReplicas, update.CurrentPartitions = map[string]int32{}, map[string]int32{}
	}
	for i := range status.SubsetStatuses {
		subset := &status.SubsetStatuses[i]
		status.SubsetReplicas[subset.Name], update.CurrentPartitions[subset.Name] = subset.Replicas, subset.Partition
	}
	if update.UpdatedRevision != "" || len(status.SubsetStatuses) > 0 {
		status.UpdateStatus = &update
	}
}
