package validation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateSelecting checks a selector that is required and must not select everything. The kind is used in
// the message.
func validateSelecting(kind string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return field.ErrorList{field.Required(path,
			fmt.Sprintf("empty selector is not valid for %s; set matchLabels or matchExpressions", kind))}
	}
	return validateSelectingIfSet(kind, selector, path)
}

// validateSelectingIfSet checks a selector that may be absent, and must not select everything.
func validateSelectingIfSet(kind string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return field.ErrorList{field.Invalid(path, selector,
			fmt.Sprintf("empty selector is not valid for %s; set matchLabels or matchExpressions", kind))}
	}
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}
