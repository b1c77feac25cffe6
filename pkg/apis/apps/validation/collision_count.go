package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateCollisionCount(count, old *int32, path *field.Path) field.ErrorList {
	if count == nil {
		if old == nil {
			return nil
		}
		return field.ErrorList{field.Required(path, "cannot be unset, because it never decreases; send the stored value or a larger one")}
	}
	if old != nil && *count < *old {
		return field.ErrorList{field.Invalid(path, *count, "must not decrease; send the stored value or a larger one")}
	}
	return notNegative(int64(*count), path)
}
