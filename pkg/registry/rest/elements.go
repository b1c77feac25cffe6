package rest

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mostElements is how many lists, maps and elements of them an object may have, without its status. Each of them costs some rules and can
// have some errors, so this bounds the time of a request. Lists count also if they are empty, because the rules of an element look at each
// of its lists: a container costs more than an environment variable. An object of the largest size has more only if its elements are
// nearly empty.
const mostElements = 10_000

// elements counts the lists, maps and elements in a value of one type. It is nil for types without lists and maps.
type elements func(value reflect.Value) int

// elementsOf returns the counter for a type of objects. It is built once for each kind, so that a count visits only fields that can have
// elements.
func elementsOf(objects reflect.Type) elements {
	switch objects.Kind() {
	case reflect.Pointer:
		inner := elementsOf(objects.Elem())
		if inner == nil {
			return nil
		}
		return func(value reflect.Value) int {
			if value.IsNil() {
				return 0
			}
			return inner(value.Elem())
		}
	case reflect.Slice:
		if objects.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		inner := elementsOf(objects.Elem())
		return func(value reflect.Value) int {
			count := 1 + value.Len()
			for i := 0; inner != nil && i < value.Len(); i++ {
				count += inner(value.Index(i))
			}
			return count
		}
	case reflect.Map:
		inner := elementsOf(objects.Elem())
		return func(value reflect.Value) int {
			count := 1 + value.Len()
			for entries := value.MapRange(); inner != nil && entries.Next(); {
				count += inner(entries.Value())
			}
			return count
		}
	case reflect.Struct:
		return elementsOfFields(objects)
	default:
		return nil
	}
}

// elementsOfFields leaves out the status, which controllers write, and the managed fields, which the server writes.
func elementsOfFields(objects reflect.Type) elements {
	inner := map[int]elements{}
	for i := range objects.NumField() {
		structField := objects.Field(i)
		if !structField.IsExported() || structField.Name == "Status" || structField.Name == "ManagedFields" {
			continue
		}
		if count := elementsOf(structField.Type); count != nil {
			inner[i] = count
		}
	}
	if len(inner) == 0 {
		return nil
	}
	return func(value reflect.Value) int {
		count := 0
		for i, of := range inner {
			count += of(value.Field(i))
		}
		return count
	}
}

// check returns an error if the object has too many elements. An update may keep the number of the stored object. Without a counter,
// every number is allowed.
func (e elements) check(obj any) field.ErrorList {
	if e == nil {
		return nil
	}
	count := e(reflect.ValueOf(obj))
	if count <= mostElements {
		return nil
	}
	return field.ErrorList{{
		Type: field.ErrorTypeTooMany, Field: "spec", BadValue: count,
		Detail: fmt.Sprintf("the number of lists, maps and their elements must be at most %d; divide the object", mostElements),
	}}
}
