package validation

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
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
			errs = append(errs, validatePodPatch(subset.Patch.Raw, at.Child("patch"))...)
		}
	}
	return errs
}

// validatePodPatch checks that a patch can be merged into any Pod.
func validatePodPatch(patch []byte, path *field.Path) field.ErrorList {
	if errs := rules.ValidatePatch(patch, &corev1.Pod{}, "a strategic merge patch of a Pod", path); len(errs) > 0 {
		return errs
	}
	return validatePatchedMetadata(patch, path.Child("metadata"))
}

// fixedMetadata is a Pod with the fields of metadata that a patch must not change. Kubernetes sets them, or refuses another value.
const fixedMetadata = `{"metadata":{"name":"a","generateName":"b","namespace":"c","uid":"d","resourceVersion":"1","generation":1,` +
	`"selfLink":"e","creationTimestamp":"2000-01-01T00:00:00Z","deletionTimestamp":"2000-01-01T00:00:00Z","deletionGracePeriodSeconds":1,` +
	`"ownerReferences":[{"apiVersion":"v1","kind":"f","name":"g","uid":"h"}]}}`

// validatePatchedMetadata checks that a patch of Pods changes only their labels, annotations and finalizers. It compares a patched Pod,
// because directives of the patch can remove fields that it does not name.
func validatePatchedMetadata(patch []byte, path *field.Path) field.ErrorList {
	merged, err := rules.StrategicMerge([]byte(fixedMetadata), patch, &corev1.Pod{})
	var before, after struct{ Metadata map[string]any }
	if err == nil {
		err = errors.Join(json.Unmarshal([]byte(fixedMetadata), &before), json.Unmarshal(merged, &after))
	}
	if err != nil {
		return field.ErrorList{field.Invalid(path, "", "must be a strategic merge patch of a Pod: "+err.Error())}
	}
	for _, free := range []string{"labels", "annotations", "finalizers"} {
		delete(after.Metadata, free)
	}
	var changed []string
	for _, name := range sets.List(sets.KeySet(before.Metadata).Union(sets.KeySet(after.Metadata))) {
		if !apiequality.Semantic.DeepEqual(before.Metadata[name], after.Metadata[name]) {
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("the patch would change %s of Pods; of the metadata, it can change labels, "+
		"annotations and finalizers", strings.Join(changed, ", ")))}
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
