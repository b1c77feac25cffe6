package validation

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/rules"
	"kruise.io/kruise/pkg/podtemplate"
)

// retrySeconds bounds the waits of all subsets: after five minutes the first one is tried again.
const retrySeconds = 295

// ValidateWorkloadSpread checks a new WorkloadSpread.
func ValidateWorkloadSpread(spread *apps.WorkloadSpread) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&spread.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateWorkloadSpreadSpec(&spread.Spec, field.NewPath("spec"))...)
}

// ValidateWorkloadSpreadUpdate checks an update of a WorkloadSpread.
func ValidateWorkloadSpreadUpdate(spread, old *apps.WorkloadSpread) field.ErrorList {
	path := field.NewPath("spec")
	errs := replaced(spread, old, func(one *apps.WorkloadSpread) field.ErrorList {
		return validateWorkloadSpreadSpec(&one.Spec, path)
	})
	return append(errs, validateSameTarget(spread.Spec.TargetRef, old.Spec.TargetRef, path.Child("targetRef"))...)
}

var workloadSpreadMoved = []movedField{
	{"spec.subsets[*].requiredNodeSelector", "spec.subsets[*].requiredNodeSelectorTerm"},
	{"spec.subsets[*].preferredNodeSelector", "spec.subsets[*].preferredNodeSelectorTerms"},
}

// WorkloadSpreadErrorsIn converts the paths of errors in a WorkloadSpread to the version of the request.
func WorkloadSpreadErrorsIn(version string, errs field.ErrorList) field.ErrorList {
	return inVersion(version, errs, workloadSpreadMoved)
}

// ValidateWorkloadSpreadStatusUpdate checks an update of a status.
func ValidateWorkloadSpreadStatusUpdate(spread, old *apps.WorkloadSpread) field.ErrorList {
	return replaced(spread, old, func(one *apps.WorkloadSpread) field.ErrorList {
		return validateWorkloadSpreadStatus(&one.Status)
	})
}

func validateWorkloadSpreadStatus(status *apps.WorkloadSpreadStatus) field.ErrorList {
	path := field.NewPath("status")
	errs := notNegative(status.ObservedGeneration, path.Child("observedGeneration"))
	errs = append(errs, validateSubsetStatuses(status.SubsetStatuses, path.Child("subsetStatuses"))...)
	for version, statuses := range status.VersionedSubsetStatuses {
		errs = append(errs, validateSubsetStatuses(statuses, path.Child("versionedSubsetStatuses").Key(version))...)
	}
	return errs
}

func validateSubsetStatuses(statuses []apps.WorkloadSpreadSubsetStatus, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range statuses {
		errs = append(errs, notNegative(int64(statuses[i].Replicas), path.Index(i).Child("replicas"))...)
		if missing := statuses[i].MissingReplicas; missing < -1 {
			errs = append(errs, field.Invalid(path.Index(i).Child("missingReplicas"), missing,
				"must be the number of Pods that still fit, or -1 for no limit"))
		}
	}
	return errs
}

func validateWorkloadSpreadSpec(spec *apps.WorkloadSpreadSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.TargetRef == nil {
		errs = append(errs, field.Required(path.Child("targetRef"), "set the workload to spread"))
	} else {
		errs = append(errs, validateTarget(spec.TargetRef, path.Child("targetRef"))...)
	}
	errs = append(errs, validateTargetFilter(spec.TargetFilter, path.Child("targetFilter"))...)
	errs = append(errs, validateSubsets(spec.Subsets, path.Child("subsets"))...)
	errs = append(errs, validateSubsetLimits(spec, path.Child("subsets"))...)
	return append(errs, validateScheduleStrategy(spec, path)...)
}

func validateTargetFilter(filter *apps.TargetFilter, path *field.Path) field.ErrorList {
	if filter == nil {
		return nil
	}
	var errs field.ErrorList
	if filter.Selector != nil {
		errs = metav1validation.ValidateLabelSelector(
			filter.Selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))
	}
	for i, fieldPath := range filter.ReplicasPathList {
		for part := range strings.SplitSeq(fieldPath, ".") {
			if part == "" {
				errs = append(errs, field.Invalid(path.Child("replicasPathList").Index(i), fieldPath,
					"must be field names and list indexes separated by dots, such as spec.replicas"))
				break
			}
		}
	}
	return errs
}

// validateSubsets tries the patches of as many subsets as a list may have, because each costs much more than its length. A longer list can
// only be an old one.
func validateSubsets(subsets []apps.WorkloadSpreadSubset, path *field.Path) field.ErrorList {
	if len(subsets) == 0 {
		return field.ErrorList{field.Required(path, "set at least one subset")}
	}
	errs := atMost(len(subsets), path)
	seen := sets.New[string]()
	for i := range subsets {
		subset, at := &subsets[i], path.Index(i)
		switch {
		case subset.Name == "":
			errs = append(errs, field.Required(at.Child("name"), "set the name of the subset"))
		case seen.Has(subset.Name):
			errs = append(errs, field.Duplicate(at.Child("name"), subset.Name))
		}
		seen.Insert(subset.Name)
		if subset.RequiredNodeSelector != nil {
			errs = append(errs, podtemplate.ValidateNodeSelectorTerm(subset.RequiredNodeSelector, at.Child("requiredNodeSelector"))...)
		}
		errs = append(errs, podtemplate.ValidatePreferredSchedulingTerms(subset.PreferredNodeSelector, at.Child("preferredNodeSelector"))...)
		errs = append(errs, podtemplate.ValidateTolerations(subset.Tolerations, at.Child("tolerations"))...)
		errs = append(errs, validateAmount(subset.MaxReplicas, at.Child("maxReplicas"))...)
		if subset.Patch != nil && i < maxItems {
			errs = append(errs, rules.ValidatePatch(subset.Patch.Raw, &corev1.Pod{}, "a strategic merge patch of a Pod", at.Child("patch"))...)
		}
	}
	return errs
}

// validateSubsetLimits checks the maxReplicas of all subsets together.
func validateSubsetLimits(spec *apps.WorkloadSpreadSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var sum float64
	var first *intstr.IntOrString
	percentages := false
	statefulSet := spec.TargetRef != nil && spec.TargetRef.Kind == "StatefulSet"
	for i := range spec.Subsets {
		limit, at := spec.Subsets[i].MaxReplicas, path.Index(i).Child("maxReplicas")
		if limit == nil || len(validateAmount(limit, at)) > 0 {
			continue
		}
		if first == nil {
			first = limit
		}
		if limit.Type != first.Type {
			errs = append(errs, field.Invalid(at, limit.String(), "numbers and percentages cannot be mixed; use one of them in all subsets"))
		}
		if limit.Type == intstr.String {
			percentages = true
			percent, _ := strconv.ParseFloat(strings.TrimSuffix(limit.StrVal, "%"), 64)
			sum += percent
			if statefulSet {
				errs = append(errs, field.Invalid(at, limit.String(), "must be an integer, because the Pods of a StatefulSet are counted by ordinal"))
			}
		}
	}
	if percentages {
		errs = append(errs, validatePercentages(spec.Subsets, sum, path)...)
	}
	return errs
}

func validatePercentages(subsets []apps.WorkloadSpreadSubset, sum float64, path *field.Path) field.ErrorList {
	const tolerance = 1e-6
	shown := fmt.Sprintf("%g%%", math.Round(sum/tolerance)*tolerance)
	switch last := len(subsets) - 1; {
	case sum > 100+tolerance:
		return field.ErrorList{field.Invalid(path, shown, "the sum of maxReplicas must not be more than 100%")}
	case subsets[last].MaxReplicas != nil && sum < 100-tolerance:
		return field.ErrorList{field.Invalid(path, shown,
			"the sum of maxReplicas must be 100% when the last subset has maxReplicas; raise one of them, or remove it from the last subset")}
	}
	return nil
}

func validateScheduleStrategy(spec *apps.WorkloadSpreadSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	strategy, at := &spec.ScheduleStrategy, path.Child("scheduleStrategy")
	known := []apps.WorkloadSpreadScheduleStrategyType{
		apps.FixedWorkloadSpreadScheduleStrategyType, apps.AdaptiveWorkloadSpreadScheduleStrategyType,
	}
	if strategy.Type != "" && strategy.Type != known[0] && strategy.Type != known[1] {
		errs = append(errs, field.NotSupported(at.Child("type"), strategy.Type, known))
	}
	if strategy.Adaptive == nil {
		return errs
	}
	if strategy.Type != apps.AdaptiveWorkloadSpreadScheduleStrategyType {
		errs = append(errs, field.Invalid(at.Child("type"), strategy.Type,
			"must be Adaptive when adaptive is set; change it, or remove adaptive"))
	}
	others := len(spec.Subsets) - 1
	if others > 0 && spec.Subsets[others].MaxReplicas != nil {
		errs = append(errs, field.Invalid(path.Child("subsets").Index(others).Child("maxReplicas"), spec.Subsets[others].MaxReplicas.String(),
			"not allowed in the last subset when adaptive is set, because this subset takes the remaining Pods; remove it"))
	}
	seconds := strategy.Adaptive.RescheduleCriticalSeconds
	if seconds == nil {
		return errs
	}
	secondsPath := at.Child("adaptive", "rescheduleCriticalSeconds")
	errs = append(errs, notNegative(int64(*seconds), secondsPath)...)
	if others > 0 && int(*seconds) > retrySeconds/others {
		errs = append(errs, field.Invalid(secondsPath, *seconds,
			fmt.Sprintf("must not be more than %d with %d subsets", retrySeconds/others, len(spec.Subsets))))
	}
	return errs
}
