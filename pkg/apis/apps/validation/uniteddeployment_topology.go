package validation

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/rules"
	"kruise.io/kruise/pkg/podtemplate"
)

func validateUnitedTopology(spec *apps.UnitedDeploymentSpec, path *field.Path) field.ErrorList {
	subsets := spec.Topology.Subsets
	errs := atMost(len(subsets), path.Child("subsets"))
	seen := sets.New[string]()
	for i := range subsets {
		subset, at := &subsets[i], path.Child("subsets").Index(i)
		if seen.Has(subset.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), subset.Name))
		}
		seen.Insert(subset.Name)
		errs = append(errs, validateSubset(subset, at)...)
		// As in a WorkloadSpread, the patches beyond the limit of the list are not tried.
		if subset.Patch != nil && i < maxItems {
			errs = append(errs, rules.ValidatePatch(subset.Patch.Raw, &corev1.PodTemplateSpec{},
				`a strategic merge patch of a Pod template, such as {"metadata":{"labels":{"a":"b"}}}`, at.Child("patch"))...)
		}
	}
	if len(errs) == 0 {
		errs = append(errs, validateAllocation(spec, path.Child("subsets"))...)
	}
	return append(errs, validateUnitedSchedule(spec, path.Child("scheduleStrategy"))...)
}

// validateSubset checks one subset alone, without its patch.
func validateSubset(subset *apps.Subset, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if subset.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "required, because it becomes part of the names of the workload and its Pods"))
	} else {
		for _, message := range validation.IsDNS1123Label(subset.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), subset.Name, message))
		}
	}
	errs = append(errs, podtemplate.ValidateNodeSelectorTerm(&subset.NodeSelectorTerm, path.Child("nodeSelectorTerm"))...)
	errs = append(errs, podtemplate.ValidateTolerations(subset.Tolerations, path.Child("tolerations"))...)
	errs = append(errs, validateShare(subset.Replicas, path.Child("replicas"))...)
	errs = append(errs, validateShare(subset.MinReplicas, path.Child("minReplicas"))...)
	return append(errs, validateShare(subset.MaxReplicas, path.Child("maxReplicas"))...)
}

// validateAllocation checks whether the shares of all subsets can be given at once.
func validateAllocation(spec *apps.UnitedDeploymentSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	specified, bounded := 0, false
	for i := range spec.Topology.Subsets {
		subset := &spec.Topology.Subsets[i]
		if subset.Replicas != nil {
			specified++
		}
		bounded = bounded || subset.MinReplicas != nil || subset.MaxReplicas != nil
	}
	switch {
	case bounded:
		errs = validateBounds(spec, path)
	case ptr.Deref(spec.Replicas, -1) >= 0:
		errs = validateSum(spec, specified, path)
	}
	if spec.Replicas == nil {
		errs = append(errs, validateWithoutTotal(spec, path)...)
	}
	return errs
}

// validateSum checks the shares against the total.
func validateSum(spec *apps.UnitedDeploymentSpec, specified int, path *field.Path) field.ErrorList {
	total, sum := int64(*spec.Replicas), int64(0)
	for i := range spec.Topology.Subsets {
		sum += shareOf(spec.Topology.Subsets[i].Replicas, *spec.Replicas)
	}
	switch {
	case sum > total:
		return field.ErrorList{field.Invalid(path, sum, fmt.Sprintf(
			"the subsets have more replicas than spec.replicas (%d); lower their replicas, or raise spec.replicas", total))}
	case specified > 0 && specified == len(spec.Topology.Subsets) && sum != total:
		return field.ErrorList{field.Invalid(path, sum, fmt.Sprintf(
			"all subsets have replicas, and their sum is less than spec.replicas (%d); remove replicas from one subset, or make the sums equal",
			total,
		))}
	}
	return nil
}

// validateBounds checks minReplicas and maxReplicas.
func validateBounds(spec *apps.UnitedDeploymentSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	unlimited := false
	for i := range spec.Topology.Subsets {
		subset, at := &spec.Topology.Subsets[i], path.Index(i)
		if subset.Replicas != nil {
			errs = append(errs, field.Forbidden(at.Child("replicas"),
				"cannot be used when any subset has minReplicas or maxReplicas; remove one or the other"))
		}
		if subset.MaxReplicas == nil {
			unlimited = true
			continue
		}
		total := ptr.Deref(spec.Replicas, 0)
		if shareOf(subset.MinReplicas, total) > shareOf(subset.MaxReplicas, total) {
			errs = append(errs, field.Invalid(at.Child("minReplicas"), subset.MinReplicas.String(),
				"must not be more than maxReplicas; lower it, or raise maxReplicas"))
		}
	}
	if !unlimited {
		errs = append(errs, field.Required(path, "at least one subset must have no maxReplicas, so that all Pods fit; remove it from one subset"))
	}
	return errs
}

// validateWithoutTotal checks subsets whose sum is the total.
func validateWithoutTotal(spec *apps.UnitedDeploymentSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	total := int64(0)
	for i := range spec.Topology.Subsets {
		replicas := spec.Topology.Subsets[i].Replicas
		if replicas == nil || replicas.Type != intstr.Int {
			errs = append(errs, field.Required(path.Index(i).Child("replicas"),
				"must be an integer when spec.replicas is not set; set one of the two"))
			continue
		}
		total += int64(replicas.IntVal)
	}
	if total > math.MaxInt32 {
		errs = append(errs, field.Invalid(path, total,
			fmt.Sprintf("the sum of all replicas must be at most %d; lower the replicas of a subset", math.MaxInt32)))
	}
	return errs
}

// shareOf is the number that a share stands for. A percentage is rounded to the nearest number,
// a half up.
func shareOf(share *intstr.IntOrString, total int32) int64 {
	if share == nil {
		return 0
	}
	if share.Type == intstr.Int {
		return int64(share.IntVal)
	}
	percent, _ := resolve(share, 100)
	return int64(math.Floor(percent*float64(total)/100 + 0.5))
}

func validateUnitedSchedule(spec *apps.UnitedDeploymentSpec, path *field.Path) field.ErrorList {
	strategy := &spec.Topology.ScheduleStrategy
	errs := oneOf(path.Child("type"), strategy.Type,
		apps.FixedUnitedDeploymentScheduleStrategyType, apps.AdaptiveUnitedDeploymentScheduleStrategyType)
	if strategy.Type == apps.AdaptiveUnitedDeploymentScheduleStrategyType {
		for i := range spec.Topology.Subsets {
			if spec.Topology.Subsets[i].Replicas != nil {
				errs = append(errs, field.Forbidden(field.NewPath("spec", "topology", "subsets").Index(i).Child("replicas"),
					"not supported with type Adaptive, which moves Pods between subsets; use minReplicas and maxReplicas, or type Fixed"))
			}
		}
	}
	if strategy.Adaptive == nil {
		return errs
	}
	at := path.Child("adaptive")
	errs = append(errs, validateCounts([]count{
		{"rescheduleCriticalSeconds", ptr.Deref(strategy.Adaptive.RescheduleCriticalSeconds, 0)},
		{"unschedulableDuration", ptr.Deref(strategy.Adaptive.UnschedulableDuration, 0)},
	}, at)...)
	if strategy.Adaptive.ReserveUnschedulablePods && spec.Template.CloneSetTemplate == nil && spec.Template.DeploymentTemplate == nil {
		errs = append(errs, field.Forbidden(at.Child("reserveUnschedulablePods"),
			"only supported with cloneSetTemplate or deploymentTemplate; use one of them, or remove it"))
	}
	return errs
}
