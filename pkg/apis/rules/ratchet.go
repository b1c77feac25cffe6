package rules

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Replaced checks the metadata of an object that is to replace the stored one, and judges the object
// without what WithoutStored drops.
func Replaced[T metav1.Object](object, stored T, judge func(T) field.ErrorList) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(object, stored, field.NewPath("metadata"))
	return append(errs, WithoutStored(object, stored, judge(object), func() field.ErrorList { return judge(stored) })...)
}

// WithoutStored drops the errors of an object that the stored object has too, at the same field with
// the same value: an update that leaves an old mistake alone is not stopped by it. judgeStored is
// called only when there are errors. An element of a list is found again by its key where the list has
// one, so an old mistake may move within its list.
//
// Errors are compared as they are printed: type, field, value and reason. Values of core's
// internal types cannot be compared in another way, some have private fields.
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
