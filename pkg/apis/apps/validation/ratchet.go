package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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

func contains(errs field.ErrorList, wanted *field.Error) bool {
	for _, err := range errs {
		if err.Type == wanted.Type && err.Field == wanted.Field && err.Detail == wanted.Detail &&
			apiequality.Semantic.DeepEqual(err.BadValue, wanted.BadValue) {
			return true
		}
	}
	return false
}
