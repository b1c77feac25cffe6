package rules

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Replaced checks the metadata of an updated object, and validates the object. It drops the errors that
// WithoutStored drops.
func Replaced[T metav1.Object](object, stored T, judge func(T) field.ErrorList) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(object, stored, field.NewPath("metadata"))
	return append(errs, WithoutStored(object, stored, judge(object), func() field.ErrorList { return judge(stored) })...)
}

// WithoutStored drops errors that the stored object also has, at the same field with the same value, so
// that an unchanged old mistake does not block an update. judgeStored is called only if there are errors.
// List items are matched by their key if the list has one, so an old mistake may move within its list.
//
// Errors are compared in printed form: type, field, value and reason. Values of core's internal types
// cannot be compared in another way, because some have private fields.
func WithoutStored(object, stored any, errs field.ErrorList, judgeStored func() field.ErrorList) field.ErrorList {
	if len(errs) == 0 {
		return nil
	}
	old := sets.New[string]()
	for _, err := range judgeStored() {
		old.Insert(printed(stored, err))
	}
	var result field.ErrorList
	for _, err := range errs {
		if !old.Has(printed(object, err)) {
			result = append(result, err)
		}
	}
	return result
}

// printed prints an error with the keys of list elements in its path.
func printed(object any, err *field.Error) string {
	at := *err
	at.Field = keyed(object, err.Field)
	return at.Error()
}
