package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
)

// ValidateUnitedDeployment checks a new UnitedDeployment.
func ValidateUnitedDeployment(united *apps.UnitedDeployment) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&united.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateUnitedDeploymentSpec(&united.Spec, nil, field.NewPath("spec"))...)
}

// ValidateUnitedDeploymentUpdate checks an update of a UnitedDeployment.
func ValidateUnitedDeploymentUpdate(united, old *apps.UnitedDeployment) field.ErrorList {
	spec := field.NewPath("spec")
	errs := replaced(united, old, func(one *apps.UnitedDeployment) field.ErrorList {
		return validateUnitedDeploymentSpec(&one.Spec, &old.Spec, spec)
	})
	errs = append(errs, unchanged("UnitedDeployment", spec.Child("selector"), united.Spec.Selector, old.Spec.Selector)...)
	errs = append(errs, validateSubsetTemplateChange(&united.Spec.Template, &old.Spec.Template, spec.Child("template"))...)
	return append(errs, validateSubsetsChange(united.Spec.Topology.Subsets, old.Spec.Topology.Subsets, spec.Child("topology", "subsets"))...)
}

// validateSubsetsChange checks the fields of a subset that must not change while its name is the same.
func validateSubsetsChange(subsets, old []apps.Subset, path *field.Path) field.ErrorList {
	stored := map[string]*apps.Subset{}
	for i := range old {
		stored[old[i].Name] = &old[i]
	}
	var errs field.ErrorList
	for i := range subsets {
		subset, before := &subsets[i], stored[subsets[i].Name]
		if before == nil {
			continue
		}
		at := path.Index(i)
		errs = append(errs, unchanged("subset", at.Child("nodeSelectorTerm"), subset.NodeSelectorTerm, before.NodeSelectorTerm)...)
		errs = append(errs, unchanged("subset", at.Child("tolerations"), subset.Tolerations, before.Tolerations)...)
	}
	return errs
}

// ValidateUnitedDeploymentStatusUpdate checks an update of a status.
func ValidateUnitedDeploymentStatusUpdate(united, old *apps.UnitedDeployment) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&united.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	status, path := &united.Status, field.NewPath("status")
	errs = append(errs, notNegative(status.ObservedGeneration, path.Child("observedGeneration"))...)
	errs = append(errs, validateCounts([]count{
		{"replicas", status.Replicas},
		{"readyReplicas", status.ReadyReplicas},
		{"updatedReplicas", status.UpdatedReplicas},
		{"updatedReadyReplicas", status.UpdatedReadyReplicas},
		{"reservedPods", status.ReservedPods},
	}, path)...)
	for i, subset := range status.SubsetStatuses {
		errs = append(errs, validateCounts([]count{
			{"replicas", subset.Replicas},
			{"readyReplicas", subset.ReadyReplicas},
			{"partition", subset.Partition},
			{"reservedPods", subset.ReservedPods},
		}, path.Child("subsetStatuses").Index(i))...)
	}
	return append(errs, validateCollisionCount(status.CollisionCount, old.Status.CollisionCount, path.Child("collisionCount"))...)
}

// validateUnitedDeploymentSpec checks a spec. old is the stored one, nil on create.
func validateUnitedDeploymentSpec(spec, old *apps.UnitedDeploymentSpec, path *field.Path) field.ErrorList {
	var oldTemplate *apps.SubsetTemplate
	if old != nil {
		oldTemplate = &old.Template
	}
	errs := notNegative(int64(ptr.Deref(spec.Replicas, 0)), path.Child("replicas"))
	matcher, selectorErrs := asSelector("uniteddeployment", spec.Selector, path.Child("selector"))
	errs = append(errs, selectorErrs...)
	errs = append(errs, validateSubsetTemplate(&spec.Template, oldTemplate, matcher, path.Child("template"))...)
	errs = append(errs, validateUnitedTopology(spec, path.Child("topology"))...)
	errs = append(errs, validateManualUpdate(spec, path.Child("updateStrategy"))...)
	return append(errs, notNegative(int64(ptr.Deref(spec.RevisionHistoryLimit, 0)), path.Child("revisionHistoryLimit"))...)
}

// validateManualUpdate checks the update strategy, whose partitions name subsets.
func validateManualUpdate(spec *apps.UnitedDeploymentSpec, path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("type"), spec.UpdateStrategy.Type, apps.ManualUpdateStrategyType)
	if spec.UpdateStrategy.ManualUpdate == nil {
		return errs
	}
	names := map[string]bool{}
	for i := range spec.Topology.Subsets {
		names[spec.Topology.Subsets[i].Name] = true
	}
	for name, partition := range spec.UpdateStrategy.ManualUpdate.Partitions {
		at := path.Child("manualUpdate", "partitions").Key(name)
		if !names[name] {
			errs = append(errs, field.Invalid(at, partition, "no subset has this name; remove it, or name one of topology.subsets"))
		}
		errs = append(errs, notNegative(int64(partition), at)...)
	}
	return errs
}
