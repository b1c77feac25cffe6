package rules

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// WithoutStored drops the errors that the stored object has too, at the same field with the
// same value: an update that leaves an old mistake alone is not stopped by it. stored is
// called only when there are errors.
//
// Errors are compared as they are printed: type, field, value and reason. Values of core's
// internal types cannot be compared in another way, some have private fields.
func WithoutStored(errs field.ErrorList, stored func() field.ErrorList) field.ErrorList {
	if len(errs) == 0 {
		return nil
	}
	old := sets.New[string]()
	for _, err := range stored() {
		old.Insert(err.Error())
	}
	var result field.ErrorList
	for _, err := range errs {
		if !old.Has(err.Error()) {
			result = append(result, err)
		}
	}
	return result
}
