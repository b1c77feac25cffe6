package validation

import "k8s.io/apimachinery/pkg/util/validation/field"

// count is a number in a status and its field's name.
type count struct {
	name  string
	value int32
}

// validateCounts checks numbers of anything.
func validateCounts(counts []count, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, count := range counts {
		errs = append(errs, notNegative(int64(count.value), path.Child(count.name))...)
	}
	return errs
}
