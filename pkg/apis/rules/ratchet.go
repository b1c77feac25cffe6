package rules

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Replaced checks the metadata of an updated object, and validates the object. It drops the errors that
// WithoutStored drops.
func Replaced[T metav1.Object](object, stored T, judge func(T) field.ErrorList) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(object, stored, field.NewPath("metadata"))
	return append(errs, WithoutStored(object, stored, judge(object), func() field.ErrorList { return judge(stored) })...)
}

// WithoutStored drops errors of an object that the stored object also has, at the same field with the same value, so that an unchanged
// old mistake does not block an update. judgeStored is called only if there are errors. Elements of a list are matched by their key if
// the list has one, so an old mistake can move within its list. A list that is too long may become shorter.
//
// Errors are compared in printed form: type, field, value and reason. Values of core's internal types cannot be compared in another way,
// because some have private fields.
func WithoutStored(object, stored any, errs field.ErrorList, judgeStored func() field.ErrorList) field.ErrorList {
	if len(errs) == 0 {
		return nil
	}
	old := map[string]int{}
	for _, err := range judgeStored() {
		text, length := printed(stored, err)
		old[text] = max(old[text], length)
	}
	var result field.ErrorList
	for _, err := range errs {
		text, length := printed(object, err)
		if longest, found := old[text]; !found || length > longest {
			result = append(result, err)
		}
	}
	return result
}

// printed prints an error with the keys of list elements in its path. If the error is about the length of a list, the length is not in
// the text. For all other errors it is 0.
func printed(object any, err *field.Error) (text string, length int) {
	at := *err
	at.Field = keyed(object, err.Field)
	if err.Type == field.ErrorTypeTooMany {
		length, _ = err.BadValue.(int)
		at.BadValue = nil
	}
	return at.Error(), length
}
