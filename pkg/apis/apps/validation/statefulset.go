package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

// ValidateStatefulSet checks a new StatefulSet.
func ValidateStatefulSet(set *apps.StatefulSet) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&set.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateStatefulSetSpec(&set.Spec, nil, field.NewPath("spec"))...)
}

// ValidateStatefulSetUpdate checks an update of a StatefulSet.
func ValidateStatefulSetUpdate(set, old *apps.StatefulSet) field.ErrorList {
	spec := field.NewPath("spec")
	errs := replaced(set, old, func(one *apps.StatefulSet) field.ErrorList {
		return validateStatefulSetSpec(&one.Spec, &old.Spec, spec)
	})
	return append(errs, validateStatefulSetChange(&set.Spec, &old.Spec, spec)...)
}

// validateStatefulSetChange checks what an update may not change.
func validateStatefulSetChange(spec, old *apps.StatefulSetSpec, path *field.Path) field.ErrorList {
	errs := unchanged("StatefulSet", path.Child("selector"), spec.Selector, old.Selector)
	errs = append(errs, unchanged("StatefulSet", path.Child("serviceName"), spec.ServiceName, old.ServiceName)...)
	errs = append(errs, unchanged("StatefulSet", path.Child("podManagementPolicy"), spec.PodManagementPolicy, old.PodManagementPolicy)...)
	if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil {
		errs = append(errs, validateInPlaceOnly(rolling.PodUpdatePolicy, &spec.Template, &old.Template, path)...)
	}
	return errs
}

// ValidateStatefulSetStatusUpdate checks an update of a status.
func ValidateStatefulSetStatusUpdate(set, old *apps.StatefulSet) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&set.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	status, path := &set.Status, field.NewPath("status")
	errs = append(errs, notNegative(status.ObservedGeneration, path.Child("observedGeneration"))...)
	errs = append(errs, validateCounts([]count{
		{"replicas", status.Replicas},
		{"readyReplicas", status.ReadyReplicas},
		{"availableReplicas", status.AvailableReplicas},
		{"currentReplicas", status.CurrentReplicas},
		{"updatedReplicas", status.UpdatedReplicas},
		{"updatedReadyReplicas", status.UpdatedReadyReplicas},
		{"updatedAvailableReplicas", status.UpdatedAvailableReplicas},
	}, path)...)
	for i, claim := range status.VolumeClaims {
		errs = append(errs, validateCounts([]count{
			{"compatibleReplicas", claim.CompatibleReplicas},
			{"compatibleReadyReplicas", claim.CompatibleReadyReplicas},
		}, path.Child("volumeClaims").Index(i))...)
	}
	return append(errs, validateCollisionCount(status.CollisionCount, old.Status.CollisionCount, path.Child("collisionCount"))...)
}
