package rules

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Moved is a field with different paths in the hub and in v1alpha1, without an index at the end. "[*]"
// within a path means any index, which both paths have.
type Moved [2]string

// InVersion converts the paths of errors to the version of the request: the rules use the paths of the
// hub, which are those of v1beta1. The first matching path of moved is used, so longer paths must come
// before shorter ones.
func InVersion(version string, errs field.ErrorList, moved []Moved) field.ErrorList {
	if version != "v1alpha1" {
		return errs
	}
	result := make(field.ErrorList, 0, len(errs))
	for _, err := range errs {
		shown := *err
		for _, path := range moved {
			if translated, found := path.move(err.Field); found {
				shown.Field = translated
				break
			}
		}
		result = append(result, &shown)
	}
	return result
}

// move returns where v1alpha1 has the field at path, or false when it is not this one.
func (m Moved) move(path string) (string, bool) {
	hub, older := strings.Split(m[0], "[*]"), strings.Split(m[1], "[*]")
	moved, rest := "", path
	for i, part := range hub {
		if i > 0 {
			end := strings.IndexByte(rest, ']')
			if end < 0 || rest[0] != '[' {
				return "", false
			}
			moved, rest = moved+rest[:end+1], rest[end+1:]
		}
		after, found := strings.CutPrefix(rest, part)
		if !found {
			return "", false
		}
		moved, rest = moved+older[i], after
	}
	return moved + rest, rest == "" || rest[0] == '.' || rest[0] == '['
}
