package rules

import (
	"reflect"
	"strings"
	"sync"
)

// fieldsOfTypes holds the fields of each struct type, by the names that paths have for them. It is filled at the first path through a type:
// reflect.VisibleFields is too slow to be called for each element of a list.
var fieldsOfTypes sync.Map // reflect.Type to fieldsByName

// fieldsByName maps a name to the fields that have it, in the order of the type. Fields with a JSON name are in tagged, others in untagged
// by their Go name in lower case.
type fieldsByName struct {
	tagged, untagged map[string][]reflect.StructField
}

func fieldsOfType(structType reflect.Type) fieldsByName {
	if known, found := fieldsOfTypes.Load(structType); found {
		return known.(fieldsByName)
	}
	fields := fieldsByName{map[string][]reflect.StructField{}, map[string][]reflect.StructField{}}
	for _, structField := range reflect.VisibleFields(structType) {
		tag, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
		name := strings.ToLower(structField.Name)
		switch {
		case tag != "":
			fields.tagged[tag] = append(fields.tagged[tag], structField)
		case structField.Name == "ObjectMeta":
			fields.untagged["metadata"] = append(fields.untagged["metadata"], structField)
		default:
			fields.untagged[name] = append(fields.untagged[name], structField)
		}
	}
	fieldsOfTypes.Store(structType, fields)
	return fields
}

// fieldOf finds the field of a struct that a path names: by its JSON name, or by its Go name with a small first letter.
func fieldOf(value reflect.Value, name string) (reflect.Value, reflect.StructField) {
	value = indirect(value)
	if value.Kind() != reflect.Struct {
		return reflect.Value{}, reflect.StructField{}
	}
	fields := fieldsOfType(value.Type())
	for _, named := range [][]reflect.StructField{fields.tagged[name], fields.untagged[strings.ToLower(name)]} {
		for _, structField := range named {
			// The field of an embedded pointer that is nil is not there.
			if found, err := value.FieldByIndexErr(structField.Index); err == nil {
				return found, structField
			}
		}
	}
	return reflect.Value{}, reflect.StructField{}
}
