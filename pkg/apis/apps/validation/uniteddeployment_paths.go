package validation

import "k8s.io/apimachinery/pkg/util/validation/field"

// UnitedDeploymentErrorsIn converts the paths of errors in a UnitedDeployment to the version of the
// request. Its CloneSet has that version too.
func UnitedDeploymentErrorsIn(version string, errs field.ErrorList) field.ErrorList {
	const prefix = "spec.template.cloneSetTemplate."
	moved := make([]movedField, 0, len(cloneSetMoved))
	for _, path := range cloneSetMoved {
		moved = append(moved, movedField{prefix + path[0], prefix + path[1]})
	}
	return inVersion(version, errs, moved)
}
