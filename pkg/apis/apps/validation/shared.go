package validation

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/rules"
)

// What the rules of all groups share, under the names that it has here.
var (
	notNegative         = rules.NotNegative
	validateAmount      = rules.Amount
	validateWholeAmount = rules.WholeAmount
	resolve             = rules.Resolve
	inVersion           = rules.InVersion
)

type movedField = rules.Moved

// oneOf checks a field that has only a few values.
func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// replaced is rules.Replaced.
func replaced[T metav1.Object](object, old T, judge func(T) field.ErrorList) field.ErrorList {
	return rules.Replaced(object, old, judge)
}
