package rules

import (
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mostCompared is how many errors are compared one by one. A comparison costs several times as much as the rule that found the error, and
// an object that a user can correct has far fewer.
const mostCompared = 1000

// Replaced checks the metadata of an updated object, and validates the object. It drops the errors that
// WithoutStored drops.
func Replaced[T metav1.Object](object, stored T, judge func(T) field.ErrorList) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(object, stored, field.NewPath("metadata"))
	return append(errs, WithoutStored(object, stored, judge(object), func() field.ErrorList { return judge(stored) })...)
}

// WithoutStored drops errors of an object that the stored object also has, at the same field with the same value, so that an unchanged
// old mistake does not block an update. judgeStored is called only if there are errors. Elements of a list are matched by their key if
// the list has one, so an old mistake can move within its list. A list or a patch that is too long may become shorter.
//
// The cost grows with the number of errors and the lengths of the lists, and not with their product. If there are more than mostCompared
// errors, only those in a part of the object that has not changed at all are dropped, such as its spec. So a controller can still remove
// its finalizer.
//
// Errors are compared in printed form: type, field, value and reason. Values of core's internal types cannot be compared in another way,
// because some have private fields.
func WithoutStored(object, stored any, errs field.ErrorList, judgeStored func() field.ErrorList) field.ErrorList {
	if len(errs) == 0 {
		return nil
	}
	if len(errs) > mostCompared {
		return inChangedParts(object, stored, errs)
	}
	old, places := map[string]int{}, newKeyer(stored)
	for _, err := range judgeStored() {
		text, length := places.printed(err)
		old[text] = max(old[text], length)
	}
	if len(old) == 0 {
		return errs
	}
	var result field.ErrorList
	places = newKeyer(object)
	for _, err := range errs {
		text, length := places.printed(err)
		if longest, found := old[text]; !found || length > longest {
			result = append(result, err)
		}
	}
	return result
}

// inChangedParts drops the errors in top-level fields that are equal in both objects.
func inChangedParts(object, stored any, errs field.ErrorList) (result field.ErrorList) {
	changed := map[string]bool{}
	for _, err := range errs {
		part, _ := cutPath(err.Field)
		differs, known := changed[part]
		if !known {
			now, _ := fieldOf(reflect.ValueOf(object), part)
			before, _ := fieldOf(reflect.ValueOf(stored), part)
			differs = !now.IsValid() || !before.IsValid() || !apiequality.Semantic.DeepEqual(now.Interface(), before.Interface())
			changed[part] = differs
		}
		if differs {
			result = append(result, err)
		}
	}
	return result
}

// printed prints an error with the keys of list elements in its path. If the error is about a length and its value is that length, the
// length is not in the text. For all other errors it is 0.
func (k *keyer) printed(err *field.Error) (text string, length int) {
	at := *err
	at.Field = k.keyed(err.Field)
	if err.Type == field.ErrorTypeTooMany || err.Type == field.ErrorTypeTooLong {
		if number, counted := err.BadValue.(int); counted {
			length, at.BadValue = number, nil
		}
	}
	return at.Error(), length
}
