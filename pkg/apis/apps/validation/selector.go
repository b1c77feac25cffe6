package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateSelector checks the selector of a spec and that the template's Pods are selected. The
// kind is for messages, in lower case.
func validateSelector(kind string, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, spec *field.Path) field.ErrorList {
	matcher, errs := asSelector(kind, selector, spec.Child("selector"))
	if len(errs) > 0 {
		return errs
	}
	return selects(matcher, template.Labels, spec.Child("template", "metadata", "labels"))
}

// asSelector checks a selector that must select something.
func asSelector(kind string, selector *metav1.LabelSelector, path *field.Path) (labels.Selector, field.ErrorList) {
	if selector == nil {
		return nil, field.ErrorList{field.Required(path, "set matchLabels to labels of the template")}
	}
	if errs := metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path); len(errs) > 0 {
		return nil, errs
	}
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return nil, field.ErrorList{field.Invalid(path, selector,
			fmt.Sprintf("empty selector is invalid for %s; set matchLabels to labels of the template", kind))}
	}
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(path, selector, err.Error())}
	}
	return matcher, nil
}

func selects(matcher labels.Selector, values map[string]string, path *field.Path) field.ErrorList {
	if matcher.Matches(labels.Set(values)) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, values,
		"`selector` does not match template `labels`; add the labels that the selector requires")}
}

// unchanged refuses another value than the stored one.
func unchanged(kind string, path *field.Path, value, old any) field.ErrorList {
	if apiequality.Semantic.DeepEqual(value, old) {
		return nil
	}
	name := path.String()[len(path.Root().String())+1:]
	return field.ErrorList{field.Forbidden(path,
		fmt.Sprintf("%s cannot be changed; put the stored one back, or create another %s", name, kind))}
}
