package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/rules"
)

// ValidatePodUnavailableBudget checks a new budget.
func ValidatePodUnavailableBudget(budget *policy.PodUnavailableBudget) field.ErrorList {
	metadata := field.NewPath("metadata")
	errs := apivalidation.ValidateObjectMeta(&budget.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, metadata)
	return append(errs, validateBudget(budget)...)
}

// ValidatePodUnavailableBudgetUpdate checks an update of a budget.
func ValidatePodUnavailableBudgetUpdate(budget, old *policy.PodUnavailableBudget) field.ErrorList {
	spec := field.NewPath("spec")
	errs := rules.Replaced(budget, old, validateBudget)
	const fixed = " cannot be modified; put the stored one back, or create another PodUnavailableBudget"
	if !apiequality.Semantic.DeepEqual(budget.Spec.Selector, old.Spec.Selector) {
		errs = append(errs, field.Forbidden(spec.Child("selector"), "selector"+fixed))
	}
	if !apiequality.Semantic.DeepEqual(budget.Spec.TargetRef, old.Spec.TargetRef) {
		errs = append(errs, field.Forbidden(spec.Child("targetRef"), "targetRef"+fixed))
	}
	return errs
}

// ValidatePodUnavailableBudgetStatusUpdate checks an update of a status.
func ValidatePodUnavailableBudgetStatusUpdate(budget, old *policy.PodUnavailableBudget) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&budget.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	status, path := &budget.Status, field.NewPath("status")
	errs = append(errs, rules.NotNegative(status.ObservedGeneration, path.Child("observedGeneration"))...)
	for _, count := range []struct {
		name  string
		value int32
	}{
		{"unavailableAllowed", status.UnavailableAllowed},
		{"currentAvailable", status.CurrentAvailable},
		{"desiredAvailable", status.DesiredAvailable},
		{"totalReplicas", status.TotalReplicas},
	} {
		errs = append(errs, rules.NotNegative(int64(count.value), path.Child(count.name))...)
	}
	errs = append(errs, validatePodNames(status.DisruptedPods, old.Status.DisruptedPods, path.Child("disruptedPods"))...)
	errs = append(errs, validatePodNames(status.UnavailablePods, old.Status.UnavailablePods, path.Child("unavailablePods"))...)
	return append(errs, validatePodNames(status.RenewedPods, old.Status.RenewedPods, path.Child("renewedPods"))...)
}

// validatePodNames checks that new grants have valid Pod names. Stored grants are not checked again,
// because there can be thousands.
func validatePodNames(times, stored map[string]metav1.Time, path *field.Path) (errs field.ErrorList) {
	for name := range times {
		if _, known := stored[name]; known {
			continue
		}
		for _, message := range apivalidation.NameIsDNSSubdomain(name, false) {
			errs = append(errs, field.Invalid(path.Key(name), name, message))
		}
	}
	return errs
}
