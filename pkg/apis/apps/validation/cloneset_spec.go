package validation

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
)

// validateCloneSetSpec checks a spec. old is the stored one, nil on create: core's rules for
// templates let stored values stay.
func validateCloneSetSpec(spec, old *apps.CloneSetSpec, path *field.Path) field.ErrorList {
	var oldTemplate *corev1.PodTemplateSpec
	if old != nil {
		oldTemplate = &old.Template
	}
	errs := notNegative(int64(ptr.Deref(spec.Replicas, 0)), path.Child("replicas"))
	errs = append(errs, validateSelector(spec.Selector, &spec.Template, path)...)
	errs = append(errs, validateTemplate(&spec.Template, oldTemplate, spec.VolumeClaimTemplates, path.Child("template"))...)
	errs = append(errs, validateClaimTemplates(spec.VolumeClaimTemplates, path.Child("volumeClaimTemplates"))...)
	errs = append(errs, validateScaleStrategy(&spec.ScaleStrategy, path.Child("scaleStrategy"))...)
	errs = append(errs, validateUpdateStrategy(&spec.UpdateStrategy, spec.Replicas, path.Child("updateStrategy"))...)
	errs = append(errs, notNegative(int64(spec.MinReadySeconds), path.Child("minReadySeconds"))...)
	errs = append(errs, notNegative(int64(ptr.Deref(spec.RevisionHistoryLimit, 0)), path.Child("revisionHistoryLimit"))...)
	return append(errs, validateProgressDeadline(spec, path.Child("progressDeadlineSeconds"))...)
}

// validateSelector checks the selector and that the template's Pods are selected.
func validateSelector(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	at := path.Child("selector")
	if selector == nil {
		return field.ErrorList{field.Required(at, "set matchLabels to labels of the template")}
	}
	if errs := metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, at); len(errs) > 0 {
		return errs
	}
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return field.ErrorList{field.Invalid(at, selector,
			"empty selector is invalid for cloneset; set matchLabels to labels of the template")}
	}
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return field.ErrorList{field.Invalid(at, selector, err.Error())}
	}
	if !matcher.Matches(labels.Set(template.Labels)) {
		return field.ErrorList{field.Invalid(path.Child("template", "metadata", "labels"), template.Labels,
			"`selector` does not match template `labels`; add the labels that the selector asks for")}
	}
	return nil
}

// validateProgressDeadline allows math.MaxInt32, which turns the deadline off.
func validateProgressDeadline(spec *apps.CloneSetSpec, path *field.Path) field.ErrorList {
	deadline := spec.ProgressDeadlineSeconds
	if deadline == nil || *deadline == math.MaxInt32 {
		return nil
	}
	errs := notNegative(int64(*deadline), path)
	if *deadline <= spec.MinReadySeconds {
		errs = append(errs, field.Invalid(path, *deadline, "must be greater than minReadySeconds"))
	}
	return errs
}
