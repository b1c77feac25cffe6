package rules

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// keyFields are the Go fields that identify the elements of our own lists. The list types of Kubernetes declare theirs in a struct tag.
var keyFields = []string{"Name", "Tag", "VolumeClaimName", "Key", "Type"}

// keyed returns the path of a field with the keys of list elements in place of their indexes, as in
// spec.template.spec.containers[name=web].image. An element that moved within its list then has the same path. Where a list has no
// key, or an object has the same key twice, the index stays. The path is that of the hub type or of Kubernetes' own types.
func keyed(object any, path string) string {
	var result strings.Builder
	value, parent, rest := reflect.ValueOf(object), reflect.StructField{}, path
	for rest != "" {
		var part string
		part, rest = cutPath(rest)
		index, isIndex := indexOf(part)
		switch {
		case isIndex:
			value = indirect(value)
			if value.Kind() == reflect.Slice && index < value.Len() {
				part = keyOf(value, parent, index)
				value = value.Index(index)
			} else {
				value = reflect.Value{}
			}
		case strings.HasPrefix(part, "["):
			value = reflect.Value{} // a key of a map: what follows stays as it is
		default:
			value, parent = fieldOf(value, strings.TrimPrefix(part, "."))
		}
		result.WriteString(part)
	}
	return result.String()
}

// cutPath cuts the first part from a path: a name with its dot, or an index or key with its brackets.
func cutPath(path string) (part, rest string) {
	if strings.HasPrefix(path, "[") {
		if end := strings.Index(path, "]"); end >= 0 {
			return path[:end+1], path[end+1:]
		}
		return path, ""
	}
	if end := strings.IndexAny(path[1:], ".["); end >= 0 {
		return path[:end+1], path[end+1:]
	}
	return path, ""
}

// indexOf returns the number in brackets.
func indexOf(part string) (int, bool) {
	number, found := strings.CutPrefix(part, "[")
	index, err := strconv.Atoi(strings.TrimSuffix(number, "]"))
	return index, found && err == nil && index >= 0
}

func indirect(value reflect.Value) reflect.Value {
	for value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	return value
}

// fieldOf finds the field of a struct that a path names: by its JSON name, or by its Go name with a small first letter.
func fieldOf(value reflect.Value, name string) (reflect.Value, reflect.StructField) {
	value = indirect(value)
	if value.Kind() != reflect.Struct {
		return reflect.Value{}, reflect.StructField{}
	}
	for _, structField := range reflect.VisibleFields(value.Type()) {
		tag, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
		named := tag == name || tag == "" && strings.EqualFold(structField.Name, name)
		if tag == "" && name == "metadata" {
			named = structField.Name == "ObjectMeta"
		}
		if !named {
			continue
		}
		if found, err := value.FieldByIndexErr(structField.Index); err == nil {
			return found, structField
		}
	}
	return reflect.Value{}, reflect.StructField{}
}

// keyOf returns the key of a list element in brackets, or its index where it has no key of its own.
func keyOf(list reflect.Value, parent reflect.StructField, index int) string {
	names := keyFields
	if merge := parent.Tag.Get("patchMergeKey"); merge != "" {
		names = []string{merge}
	}
	for _, name := range names {
		wanted, found := keyValue(list.Index(index), name)
		if !found {
			continue
		}
		for other := range list.Len() {
			if value, _ := keyValue(list.Index(other), name); other != index && value == wanted {
				return fmt.Sprintf("[%d]", index)
			}
		}
		return fmt.Sprintf("[%s=%s]", name, wanted)
	}
	return fmt.Sprintf("[%d]", index)
}

// keyValue returns the value of an element's key, and false if it has none.
func keyValue(element reflect.Value, name string) (string, bool) {
	value, _ := fieldOf(element, strings.ToLower(name[:1])+name[1:])
	switch value = indirect(value); value.Kind() {
	case reflect.String:
		return value.String(), value.String() != ""
	case reflect.Int, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(value.Int(), 10), true
	default:
		return "", false
	}
}
