package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
)

// validateClaimPolicies checks the claim policies. Unset policies mean their defaults, which are filled in
// only if the feature gates are enabled.
func validateClaimPolicies(spec *apps.StatefulSetSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if kind := spec.VolumeClaimUpdateStrategy.Type; kind != "" {
		errs = append(errs, oneOf(path.Child("volumeClaimUpdateStrategy", "type"), kind,
			apps.OnPodRollingUpdateVolumeClaimUpdateStrategyType, apps.OnDeleteVolumeClaimUpdateStrategyType)...)
	}
	policy := spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil {
		return errs
	}
	at := path.Child("persistentVolumeClaimRetentionPolicy")
	for _, when := range []struct {
		name  string
		value apps.PersistentVolumeClaimRetentionPolicyType
	}{{"whenDeleted", policy.WhenDeleted}, {"whenScaled", policy.WhenScaled}} {
		if when.value != "" {
			errs = append(errs, oneOf(at.Child(when.name), when.value,
				apps.RetainPersistentVolumeClaimRetentionPolicyType, apps.DeletePersistentVolumeClaimRetentionPolicyType)...)
		}
	}
	return errs
}

// ValidateClaimGrowth checks that the claims are the same apart from their size, so that existing claims can be
// expanded. An admission plugin checks whether their storage class supports expansion. Both run only with the
// feature gate StatefulSetAutoResizePVCGate: without it no claim is ever expanded.
func ValidateClaimGrowth(set, old *apps.StatefulSet) field.ErrorList {
	return validateClaimGrowth(&set.Spec, &old.Spec, field.NewPath("spec", "volumeClaimTemplates"))
}

func validateClaimGrowth(spec, old *apps.StatefulSetSpec, path *field.Path) field.ErrorList {
	if spec.VolumeClaimUpdateStrategy.Type != apps.OnPodRollingUpdateVolumeClaimUpdateStrategyType {
		return nil
	}
	stored := map[string]*corev1.PersistentVolumeClaim{}
	for i := range old.VolumeClaimTemplates {
		stored[old.VolumeClaimTemplates[i].Name] = &old.VolumeClaimTemplates[i]
	}
	var errs field.ErrorList
	for i := range spec.VolumeClaimTemplates {
		claim, at := &spec.VolumeClaimTemplates[i], path.Index(i)
		before, found := stored[claim.Name]
		if !found {
			errs = append(errs, field.Forbidden(at.Child("metadata", "name"),
				"with OnPodRollingUpdate no claim can be added or renamed; put the stored name back, or use OnDelete"))
			continue
		}
		delete(stored, claim.Name)
		errs = append(errs, validateSameStorage(claim, before, at.Child("spec"))...)
	}
	if len(stored) > 0 {
		errs = append(errs, field.Forbidden(path,
			"with OnPodRollingUpdate no claim can be removed; put the stored ones back, or use OnDelete"))
	}
	return errs
}

// validateSameStorage checks that existing claims can still belong to the template. Its size may change in both directions: a claim
// that is larger than its template stays as it is.
func validateSameStorage(claim, old *corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !apiequality.Semantic.DeepEqual(claim.Spec.StorageClassName, old.Spec.StorageClassName) {
		errs = append(errs, field.Invalid(path.Child("storageClassName"), ptr.Deref(claim.Spec.StorageClassName, ""),
			"with OnPodRollingUpdate the storage class of a claim cannot change; put the stored one back, or use OnDelete"))
	}
	if !slices.Equal(claim.Spec.AccessModes, old.Spec.AccessModes) {
		errs = append(errs, field.Invalid(path.Child("accessModes"), claim.Spec.AccessModes,
			"with OnPodRollingUpdate the access modes of a claim cannot change; put the stored ones back, or use OnDelete"))
	}
	return errs
}
