package rules

import (
	"reflect"
	"strconv"
	"strings"
)

// keyFields are the Go fields that identify the elements of our own lists. The list types of Kubernetes declare theirs in a struct tag.
var keyFields = []string{"Name", "Tag", "VolumeClaimName", "Key", "Type"}

// keyer replaces the indexes of list elements in paths of one object by their keys. It reads the keys of a list once, so the cost of many
// errors in one list grows with their number and not with its square.
type keyer struct {
	object reflect.Value
	lists  map[listID][]string
}

// listID identifies a list of the object. One field has one address and one type.
type listID struct {
	address uintptr
	length  int
	element reflect.Type
}

func newKeyer(object any) *keyer {
	return &keyer{object: reflect.ValueOf(object), lists: map[listID][]string{}}
}

// keyed returns the path of a field with the keys of list elements in place of their indexes, as in
// spec.template.spec.containers[name=web].image. An element that moved within its list then has the same path. Where a list has no
// key, or an object has the same key twice, the index stays. The path is that of the hub type or of Kubernetes' own types.
func (k *keyer) keyed(path string) string {
	var result strings.Builder
	value, parent, rest := k.object, reflect.StructField{}, path
	for rest != "" {
		var part string
		part, rest = cutPath(rest)
		index, isIndex := indexOf(part)
		switch {
		case isIndex:
			value = indirect(value)
			if value.Kind() == reflect.Slice && index < value.Len() {
				part = k.keysOf(value, parent)[index]
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
	if path == "" {
		return "", ""
	}
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
	if !found {
		return 0, false
	}
	index, err := strconv.Atoi(strings.TrimSuffix(number, "]"))
	return index, err == nil && index >= 0
}

func indirect(value reflect.Value) reflect.Value {
	for value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	return value
}

// keysOf returns what stands for each element of a list in paths.
func (k *keyer) keysOf(list reflect.Value, parent reflect.StructField) []string {
	id := listID{list.Pointer(), list.Len(), list.Type().Elem()}
	if known, found := k.lists[id]; found {
		return known
	}
	names := keyFields
	if merge := parent.Tag.Get("patchMergeKey"); merge != "" {
		names = []string{merge}
	}
	keys := make([]elementKey, list.Len())
	count := make(map[elementKey]int, list.Len())
	for i := range keys {
		keys[i] = keyOf(list.Index(i), names)
		count[keys[i]]++
	}
	parts := make([]string, len(keys))
	for i, key := range keys {
		if key.field == "" || count[key] > 1 {
			parts[i] = "[" + strconv.Itoa(i) + "]"
		} else {
			parts[i] = "[" + key.field + "=" + key.value + "]"
		}
	}
	k.lists[id] = parts
	return parts
}

// elementKey is the first key of a list element. field is empty if the element has no key.
type elementKey struct{ field, value string }

func keyOf(element reflect.Value, names []string) elementKey {
	for _, name := range names {
		if value, found := keyValue(element, name); found {
			return elementKey{name, value}
		}
	}
	return elementKey{}
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
