package validation

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

// validateTarget checks that a reference is complete. The admission plugin workloadtarget checks that its
// kind is allowed and its target is unique.
func validateTarget(target *apps.TargetReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, part := range []struct{ name, value, remedy string }{
		{"apiVersion", target.APIVersion, "set the group and version of the workload, such as apps/v1"},
		{"kind", target.Kind, "set the kind of the workload, such as StatefulSet"},
		{"name", target.Name, "set the name of the workload"},
	} {
		if part.value == "" {
			errs = append(errs, field.Required(path.Child(part.name), part.remedy))
		}
	}
	if _, err := schema.ParseGroupVersion(target.APIVersion); err != nil {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), target.APIVersion, "must be <group>/<version>, such as apps/v1"))
	}
	return errs
}

// validateSameTarget lets the version change and nothing else.
func validateSameTarget(target, old *apps.TargetReference, path *field.Path) field.ErrorList {
	if target == nil || old == nil || identity(target) == identity(old) {
		return nil
	}
	return field.ErrorList{field.Forbidden(path,
		"targetRef is immutable except for its version; put the stored one back, or create another object")}
}

type targetIdentity struct{ group, kind, name string }

func identity(target *apps.TargetReference) targetIdentity {
	group := target.APIVersion
	if parsed, err := schema.ParseGroupVersion(target.APIVersion); err == nil {
		group = parsed.Group
	}
	return targetIdentity{group: group, kind: target.Kind, name: target.Name}
}
