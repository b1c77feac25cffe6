package validation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/policy"
)

// ValidatePodUnavailableBudgetConflicts checks a new budget against the others of its namespace:
// none may have the same target, nor a selector that evidently selects the same Pods.
func ValidatePodUnavailableBudgetConflicts(
	budget *policy.PodUnavailableBudget, others []*policy.PodUnavailableBudget,
) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	for _, other := range others {
		switch {
		case other.Name == budget.Name: // That it exists already, the store says.
		case sameTarget(budget.Spec.TargetRef, other.Spec.TargetRef):
			message := fmt.Sprintf("PodUnavailableBudget %s has this target already; change that one, or choose another target", other.Name)
			errs = append(errs, field.Invalid(spec.Child("targetRef"), *budget.Spec.TargetRef, message))
		case overlap(budget.Spec.Selector, other.Spec.Selector):
			message := fmt.Sprintf("overlaps the selector of PodUnavailableBudget %s; let the two select different Pods", other.Name)
			errs = append(errs, field.Invalid(spec.Child("selector"), metav1.FormatLabelSelector(budget.Spec.Selector), message))
		}
	}
	return errs
}

// sameTarget compares group, kind and name. The version plays no part.
func sameTarget(a, b *policy.TargetReference) bool {
	if a == nil || b == nil || a.Kind != b.Kind || a.Name != b.Name {
		return false
	}
	return schema.FromAPIVersionAndKind(a.APIVersion, a.Kind).Group == schema.FromAPIVersionAndKind(b.APIVersion, b.Kind).Group
}

// overlap says whether two selectors use exactly the same keys and can hold together for each of
// them. Selectors with different keys are let alone: whether one Pod has both is up to its labels.
func overlap(a, b *metav1.LabelSelector) bool {
	if a == nil || b == nil {
		return false
	}
	ours, theirs := byKey(a), byKey(b)
	if !sets.KeySet(ours).Equal(sets.KeySet(theirs)) {
		return false
	}
	for key := range ours {
		for _, one := range ours[key] {
			for _, other := range theirs[key] {
				if !holdTogether(one, other) {
					return false
				}
			}
		}
	}
	return len(ours) > 0
}

// byKey are the requirements of a selector, by the label's key.
func byKey(selector *metav1.LabelSelector) map[string][]metav1.LabelSelectorRequirement {
	result := map[string][]metav1.LabelSelectorRequirement{}
	for key, value := range selector.MatchLabels {
		requirement := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}}
		result[key] = append(result[key], requirement)
	}
	for _, requirement := range selector.MatchExpressions {
		result[requirement.Key] = append(result[requirement.Key], requirement)
	}
	return result
}

// holdTogether says whether some label, or none, satisfies both requirements for one key.
func holdTogether(a, b metav1.LabelSelectorRequirement) bool {
	if a.Operator != metav1.LabelSelectorOpIn && b.Operator == metav1.LabelSelectorOpIn {
		a, b = b, a
	}
	ours, theirs := sets.New(a.Values...), sets.New(b.Values...)
	switch a.Operator {
	case metav1.LabelSelectorOpIn:
		switch b.Operator {
		case metav1.LabelSelectorOpIn:
			return ours.HasAny(b.Values...)
		case metav1.LabelSelectorOpNotIn:
			return ours.Difference(theirs).Len() > 0
		default:
			return b.Operator == metav1.LabelSelectorOpExists
		}
	case metav1.LabelSelectorOpExists:
		return b.Operator != metav1.LabelSelectorOpDoesNotExist
	case metav1.LabelSelectorOpDoesNotExist:
		return b.Operator != metav1.LabelSelectorOpExists
	default: // NotIn leaves room beside each of the others.
		return true
	}
}
