package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

// ValidateCloneSet checks a new CloneSet.
func ValidateCloneSet(cloneSet *apps.CloneSet) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&cloneSet.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateCloneSetSpec(&cloneSet.Spec, nil, field.NewPath("spec"))...)
}

// ValidateCloneSetUpdate checks an update of a CloneSet.
func ValidateCloneSetUpdate(cloneSet, old *apps.CloneSet) field.ErrorList {
	spec := field.NewPath("spec")
	errs := replaced(cloneSet, old, func(one *apps.CloneSet) field.ErrorList {
		return validateCloneSetSpec(&one.Spec, &old.Spec, spec)
	})
	errs = append(errs, unchanged("CloneSet", spec.Child("selector"), cloneSet.Spec.Selector, old.Spec.Selector)...)
	return append(errs, validateCloneSetInPlaceOnly(&cloneSet.Spec, &old.Spec, spec)...)
}

// ValidateCloneSetStatusUpdate checks an update of a status.
func ValidateCloneSetStatusUpdate(cloneSet, old *apps.CloneSet) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&cloneSet.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	status, path := &cloneSet.Status, field.NewPath("status")
	errs = append(errs, notNegative(status.ObservedGeneration, path.Child("observedGeneration"))...)
	errs = append(errs, validateCounts([]count{
		{"replicas", status.Replicas},
		{"readyReplicas", status.ReadyReplicas},
		{"availableReplicas", status.AvailableReplicas},
		{"updatedReplicas", status.UpdatedReplicas},
		{"updatedReadyReplicas", status.UpdatedReadyReplicas},
		{"updatedAvailableReplicas", status.UpdatedAvailableReplicas},
		{"expectedUpdatedReplicas", status.ExpectedUpdatedReplicas},
	}, path)...)
	return append(errs, validateCollisionCount(status.CollisionCount, old.Status.CollisionCount, path.Child("collisionCount"))...)
}
