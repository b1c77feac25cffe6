package validation

import "k8s.io/apimachinery/pkg/util/validation/field"

// withoutStored drops the errors that the stored object has too, at the same field with the
// same value: an update that leaves an old mistake alone is not stopped by it. stored is
// called only when there are errors.
func withoutStored(errs field.ErrorList, stored func() field.ErrorList) field.ErrorList {
	if len(errs) == 0 {
		return nil
	}
	old := stored()
	var result field.ErrorList
	for _, err := range errs {
		if !contains(old, err) {
			result = append(result, err)
		}
	}
	return result
}

// contains compares errors as they are printed: type, field, value and reason. Values of
// core's internal types cannot be compared in another way, some have private fields.
func contains(errs field.ErrorList, wanted *field.Error) bool {
	for _, err := range errs {
		if err.Error() == wanted.Error() {
			return true
		}
	}
	return false
}
