package validation

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/rules"
)

// ValidatePodUnavailableBudgetConflicts checks a new budget against the others of its namespace: two
// budgets must not have the same target, or selectors that clearly select the same Pods.
func ValidatePodUnavailableBudgetConflicts(
	budget *policy.PodUnavailableBudget, others []*policy.PodUnavailableBudget,
) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	// The selector is read and printed once, because there may be many others.
	mine := rules.RequirementsOf(budget.Spec.Selector)
	printed := sync.OnceValue(func() string { return metav1.FormatLabelSelector(budget.Spec.Selector) })
	for _, other := range others {
		switch {
		case other.Name == budget.Name: // That it exists already, the store says.
		case sameTarget(budget.Spec.TargetRef, other.Spec.TargetRef):
			message := fmt.Sprintf("PodUnavailableBudget %s already has this target; change that budget, or use another target", other.Name)
			errs = append(errs, field.Invalid(spec.Child("targetRef"), *budget.Spec.TargetRef, message))
		case overlap(mine, rules.RequirementsOf(other.Spec.Selector)):
			message := fmt.Sprintf("overlaps the selector of PodUnavailableBudget %s; let the two select different Pods", other.Name)
			errs = append(errs, field.Invalid(spec.Child("selector"), printed(), message))
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

// overlap reports whether two selectors use exactly the same keys and can match the same value of each
// key. Selectors with different keys are accepted, because the labels of the Pods decide whether they
// overlap.
func overlap(a, b rules.Requirements) bool { return a.SameKeys(b) && !a.Disjoint(b) }
