package servable

import (
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule checks the objects of one type. It is built once, so a check only visits the fields that can hold such values.
type Rule struct {
	root judge
}

// For builds the rule for a type of objects.
func For(objects reflect.Type) *Rule {
	return &Rule{root: (maker{}).of(objects)}
}

// Validate returns an error for each value that JSON cannot represent. Paths are those of the JSON form. For a type
// without JSON tags, the names follow the Kubernetes naming convention.
func (r *Rule) Validate(obj any) field.ErrorList {
	if r.root == nil {
		return nil
	}
	var found walk
	r.root(&found, reflect.ValueOf(obj))
	return found.errs
}

// judge checks a value of one type and everything inside it. It is nil for types that JSON can always represent.
type judge func(*walk, reflect.Value)

// walk holds the current path and the errors found so far.
type walk struct {
	path []step
	errs field.ErrorList
}

// step is one element of a path: a field if name is set, a map entry if keyed is set, else a list element.
type step struct {
	name, key string
	index     int
	keyed     bool
}

// into checks a value one step deeper. The path grows in place, so a check that finds nothing allocates no paths.
func (w *walk) into(next step, look judge, value reflect.Value) {
	w.path = append(w.path, next)
	look(w, value)
	w.path = w.path[:len(w.path)-1]
}

// report adds an error for the value at the current path.
func (w *walk) report(value any, message string) {
	var path *field.Path
	for _, step := range w.path {
		switch {
		case step.name != "":
			path = path.Child(step.name)
		case step.keyed:
			path = path.Key(step.key)
		default:
			path = path.Index(step.index)
		}
	}
	w.errs = append(w.errs, field.Invalid(path, value, message))
}
