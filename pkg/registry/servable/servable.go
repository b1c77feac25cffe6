package servable

import (
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule judges the objects of one type. It is made once, so that a write pays for a walk over what is
// set and for nothing else.
type Rule struct {
	root judge
}

// For makes the rule for objects of the type.
func For(objects reflect.Type) *Rule {
	return &Rule{root: (maker{}).of(objects)}
}

// Validate names each value that cannot be shown. Paths are those of the JSON form; a type without
// JSON tags has the names that its fields would have by convention.
func (r *Rule) Validate(obj any) field.ErrorList {
	if r.root == nil {
		return nil
	}
	var found walk
	r.root(&found, reflect.ValueOf(obj))
	return found.errs
}

// judge looks at a value of one type, and at all that it holds. It is nil for types that can
// always be shown.
type judge func(*walk, reflect.Value)

// walk is where a judge is, and what was found.
type walk struct {
	path []step
	errs field.ErrorList
}

// step leads to a field where it has a name, into a map where keyed, and into a list otherwise.
type step struct {
	name, key string
	index     int
	keyed     bool
}

func (w *walk) into(next step, look judge, value reflect.Value) {
	w.path = append(w.path, next)
	look(w, value)
	w.path = w.path[:len(w.path)-1]
}

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
