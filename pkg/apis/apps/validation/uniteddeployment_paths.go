package validation

import "k8s.io/apimachinery/pkg/util/validation/field"

// UnitedDeploymentErrorsIn gives the errors of a UnitedDeployment the paths of the version in
// which it was written: its CloneSet is of that version.
func UnitedDeploymentErrorsIn(version string, errs field.ErrorList) field.ErrorList {
	const prefix = "spec.template.cloneSetTemplate."
	moved := make([]movedField, 0, len(cloneSetMoved))
	for _, path := range cloneSetMoved {
		moved = append(moved, movedField{prefix + path[0], prefix + path[1]})
	}
	return inVersion(version, errs, moved)
}
