package validation

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// validateClaimGrowth checks that the claims are the same and only grow, so that existing claims can be
// expanded. An admission plugin checks whether their storage class supports expansion.
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
		errs = append(errs, validateGrowth(claim, before, at.Child("spec"))...)
	}
	if len(stored) > 0 {
		errs = append(errs, field.Forbidden(path,
			"with OnPodRollingUpdate no claim can be removed; put the stored ones back, or use OnDelete"))
	}
	return errs
}

func validateGrowth(claim, old *corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	size, before := claim.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	var errs field.ErrorList
	if size.Cmp(before) < 0 {
		errs = append(errs, field.Forbidden(path.Child("resources", "requests").Key(string(corev1.ResourceStorage)),
			"with OnPodRollingUpdate a claim can only grow; request "+before.String()+" or more, or use OnDelete"))
	}
	rest, stored := claim.Spec.DeepCopy(), old.Spec.DeepCopy()
	delete(rest.Resources.Requests, corev1.ResourceStorage)
	delete(stored.Resources.Requests, corev1.ResourceStorage)
	if !apiequality.Semantic.DeepEqual(rest, stored) {
		errs = append(errs, field.Forbidden(path,
			"with OnPodRollingUpdate only the requested storage of a claim can change; put the other fields back, or use OnDelete"))
	}
	return errs
}
