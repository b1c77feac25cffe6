package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/rules"
)

// What the rules of all groups share, under the names that it has here.
var (
	notNegative         = rules.NotNegative
	validateAmount      = rules.Amount
	validateWholeAmount = rules.WholeAmount
	resolve             = rules.Resolve
	withoutStored       = rules.WithoutStored
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
