package validation

import (
	"fmt"
	"regexp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/policy"
)

// validateBudget checks the spec and the annotations of a budget.
func validateBudget(budget *policy.PodUnavailableBudget) field.ErrorList {
	spec, path := &budget.Spec, field.NewPath("spec")
	errs := validatePods(spec, path)
	errs = append(errs, validateBounds(spec, path)...)
	for i, operation := range spec.ProtectOperations {
		if !slices.Contains(policy.PubOperations, operation) {
			errs = append(errs, field.NotSupported(path.Child("protectOperations").Index(i), operation, policy.PubOperations))
		}
	}
	if total := ptr.Deref(spec.ProtectTotalReplicas, 1); total < 1 {
		errs = append(errs, field.Invalid(path.Child("protectTotalReplicas"), total,
			"must be 1 or more; to use the replicas of the workloads, remove it"))
	}
	if spec.IgnoredPodSelector != nil {
		errs = append(errs, validateSelector(spec.IgnoredPodSelector, path.Child("ignoredPodSelector"))...)
	}
	if eviction := spec.UnhealthyPodEvictionPolicy; eviction != nil && !slices.Contains(evictionPolicies, *eviction) {
		errs = append(errs, field.NotSupported(path.Child("unhealthyPodEvictionPolicy"), *eviction, evictionPolicies))
	}
	return append(errs, validateAnnotations(budget)...)
}

var evictionPolicies = []policy.UnhealthyPodEvictionPolicyType{policy.AlwaysAllow, policy.IfHealthyBudget}

// validatePods checks which Pods a budget protects.
func validatePods(spec *policy.PodUnavailableBudgetSpec, path *field.Path) (errs field.ErrorList) {
	switch {
	case spec.Selector == nil && spec.TargetRef == nil:
		errs = append(errs, field.Required(path, "no selector or targetRef defined; set one of them"))
	case spec.Selector != nil && spec.TargetRef != nil:
		errs = append(errs, field.Forbidden(path, "selector and targetRef are mutually exclusive; remove one of them"))
	}
	if spec.Selector != nil {
		errs = append(errs, validateSelector(spec.Selector, path.Child("selector"))...)
	}
	if spec.TargetRef != nil {
		errs = append(errs, validateTarget(spec.TargetRef, path.Child("targetRef"))...)
	}
	return errs
}

func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return field.ErrorList{field.Required(path, "an empty selector matches every Pod; set matchLabels or matchExpressions")}
	}
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

func validateTarget(target *policy.TargetReference, path *field.Path) (errs field.ErrorList) {
	for _, part := range []struct{ name, value, example string }{
		{"apiVersion", target.APIVersion, "apps/v1"}, {"kind", target.Kind, "Deployment"}, {"name", target.Name, "web"},
	} {
		if part.value == "" {
			message := fmt.Sprintf("empty targetRef is not valid; set the workload's %s, such as %s", part.name, part.example)
			errs = append(errs, field.Required(path.Child(part.name), message))
		}
	}
	if _, err := schema.ParseGroupVersion(target.APIVersion); err != nil {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), target.APIVersion, "must be <group>/<version>, such as apps/v1"))
	}
	return errs
}

// validateBounds checks how many Pods may be unavailable.
func validateBounds(spec *policy.PodUnavailableBudgetSpec, path *field.Path) (errs field.ErrorList) {
	switch {
	case spec.MaxUnavailable == nil && spec.MinAvailable == nil:
		errs = append(errs, field.Required(path, "no maxUnavailable or minAvailable defined; set one of them"))
	case spec.MaxUnavailable != nil && spec.MinAvailable != nil:
		errs = append(errs, field.Forbidden(path, "maxUnavailable and minAvailable are mutually exclusive; remove one of them"))
	}
	errs = append(errs, validateShare(spec.MaxUnavailable, path.Child("maxUnavailable"))...)
	return append(errs, validateShare(spec.MinAvailable, path.Child("minAvailable"))...)
}

var percentage = regexp.MustCompile(`^0*(100|[0-9]{1,2})%$`)

// validateShare checks a number of Pods, or whole percents of all of them.
func validateShare(value *intstr.IntOrString, path *field.Path) field.ErrorList {
	if value == nil || value.Type == intstr.Int && value.IntVal >= 0 || value.Type == intstr.String && percentage.MatchString(value.StrVal) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.String(),
		`must be a non-negative number such as 5, or a percentage from "0%" to "100%"`)}
}

// validateAnnotations checks the annotations that say what fields say.
func validateAnnotations(budget *policy.PodUnavailableBudget) (errs field.ErrorList) {
	for _, setting := range policy.Protections() {
		text, found := budget.Annotations[setting.Annotation]
		path := field.NewPath("metadata", "annotations").Key(setting.Annotation)
		stated := setting.Text(&budget.Spec)
		switch {
		case !found:
		case !setting.Known(text):
			message := fmt.Sprintf("annotation[%s] is invalid: %s", setting.Annotation, annotationRemedies[setting.Field])
			errs = append(errs, field.Invalid(path, text, message))
		case stated != "" && setting.Normalize(text) != stated:
			message := fmt.Sprintf("spec.%s is %s, and the two must be equal; correct one of them, or remove it", setting.Field, stated)
			errs = append(errs, field.Invalid(path, text, message))
		}
	}
	return errs
}

// annotationRemedies say, by field, what its annotation may be.
var annotationRemedies = map[string]string{
	"protectOperations":    "use DELETE, UPDATE, EVICT or RESIZE; separate several with commas and no spaces",
	"protectTotalReplicas": "use a 32-bit integer",
}
