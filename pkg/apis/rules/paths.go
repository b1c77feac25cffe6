package rules

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Moved is a field that v1alpha1 has elsewhere than the hub: the path in the hub, and the one in
// v1alpha1, without an index.
type Moved [2]string

// InVersion gives errors the paths of the version in which the user wrote the object: the
// rules see the hub, whose shape is v1beta1's. The first path of moved that fits counts, so a
// longer path stands before a shorter one.
func InVersion(version string, errs field.ErrorList, moved []Moved) field.ErrorList {
	if version != "v1alpha1" {
		return errs
	}
	result := make(field.ErrorList, 0, len(errs))
	for _, err := range errs {
		shown := *err
		for _, path := range moved {
			if rest, found := strings.CutPrefix(err.Field, path[0]); found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				shown.Field = path[1] + rest
				break
			}
		}
		result = append(result, &shown)
	}
	return result
}
