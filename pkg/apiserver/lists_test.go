package apiserver

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// listPath leads from an object to one of its lists or maps. A step is the Go name of a field, "[]" for the first element of a list, or
// "{}" for the first entry of a map.
type listPath []string

func (p listPath) String() string { return strings.Join(p, ".") }

// whole are types without lists of their own.
var whole = []reflect.Type{
	reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[resource.Quantity](),
	reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[metav1.ManagedFieldsEntry](),
}

// shared are types whose lists have the same rules in every kind that has them. The shared part of a path names the type.
var shared = []reflect.Type{
	reflect.TypeFor[corev1.PodTemplateSpec](), reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[corev1.PersistentVolumeClaimSpec](),
	reflect.TypeFor[corev1.Container](), reflect.TypeFor[corev1.EphemeralContainerCommon](), reflect.TypeFor[corev1.Volume](),
	reflect.TypeFor[corev1.Probe](), reflect.TypeFor[corev1.LifecycleHandler](), reflect.TypeFor[metav1.LabelSelector](),
	reflect.TypeFor[corev1.NodeSelectorTerm](), reflect.TypeFor[corev1.PodAffinityTerm](), reflect.TypeFor[batchv1.JobTemplateSpec](),
}

// listsOf returns the lists of an object in which every list has an element, in a fixed order. name is the same for two lists that have the
// same type and place in a shared type.
func listsOf(object runtime.Object) (paths []listPath, names []string) {
	var visit func(value reflect.Value, path listPath, name string)
	visit = func(value reflect.Value, path listPath, name string) {
		if slices.Contains(whole, value.Type()) {
			return
		}
		if slices.Contains(shared, value.Type()) {
			name = value.Type().String()
		}
		in := func(value reflect.Value, step string) { visit(value, append(slices.Clone(path), step), name+"."+step) }
		switch value.Kind() {
		case reflect.Pointer:
			if !value.IsNil() {
				visit(value.Elem(), path, name)
			}
		case reflect.Struct:
			for i := range value.NumField() {
				if value.Type().Field(i).IsExported() {
					in(value.Field(i), value.Type().Field(i).Name)
				}
			}
		case reflect.Slice:
			if value.Type().Elem().Kind() == reflect.Uint8 || slices.Contains(whole, value.Type().Elem()) {
				return
			}
			paths, names = append(paths, path), append(names, name)
			if value.Len() > 0 {
				in(value.Index(0), "[]")
			}
		case reflect.Map:
			paths, names = append(paths, path), append(names, name)
			if value.Len() > 0 {
				in(value.MapIndex(value.MapKeys()[0]), "{}")
			}
		default:
		}
	}
	visit(reflect.ValueOf(object), nil, reflect.TypeOf(object).Elem().Name())
	return paths, names
}

// filled returns a copy of the object whose list at the path has the given number of elements. Each is as small as it can be, and has a key
// of its own that begins with the prefix and is no valid name.
func filled(object runtime.Object, path listPath, number int, prefix string) runtime.Object {
	result := object.DeepCopyObject()
	fill(reflect.ValueOf(result), path, number, prefix)
	return result
}

func fill(value reflect.Value, path listPath, number int, prefix string) {
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	switch {
	case len(path) == 0 && value.Kind() == reflect.Map:
		entries := reflect.MakeMapWithSize(value.Type(), number)
		for i := range number {
			key := reflect.New(value.Type().Key()).Elem()
			key.SetString(fmt.Sprintf("%s%d=", prefix, i))
			entries.SetMapIndex(key, reflect.New(value.Type().Elem()).Elem())
		}
		value.Set(entries)
	case len(path) == 0:
		elements := reflect.MakeSlice(value.Type(), number, number)
		for i := range number {
			distinguish(elements.Index(i), i, prefix)
		}
		value.Set(elements)
	case path[0] == "[]":
		fill(value.Index(0), path[1:], number, prefix)
	case path[0] == "{}":
		key := value.MapKeys()[0]
		entry := reflect.New(value.Type().Elem()).Elem()
		entry.Set(value.MapIndex(key))
		fill(entry, path[1:], number, prefix)
		value.SetMapIndex(key, entry)
	default:
		fill(value.FieldByName(path[0]), path[1:], number, prefix)
	}
}

// distinguish gives the element a value that no other element has, in its first field that can have one.
func distinguish(element reflect.Value, i int, prefix string) bool {
	switch element.Kind() {
	case reflect.String:
		element.SetString(fmt.Sprintf("%s%d=", prefix, i))
	case reflect.Int32, reflect.Int64:
		element.SetInt(int64(i + 1))
	case reflect.Struct:
		if slices.Contains(whole, element.Type()) {
			return false
		}
		for n := range element.NumField() {
			if element.Type().Field(n).IsExported() && distinguish(element.Field(n), i, prefix) {
				return true
			}
		}
		return false
	default:
		return false
	}
	return true
}
