package validation

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
)

// validateCloneSetSpec checks a spec. old is the stored one, nil on create: core's rules for
// templates let stored values stay.
func validateCloneSetSpec(spec, old *apps.CloneSetSpec, path *field.Path) field.ErrorList {
	errs := validateSelector("cloneset", spec.Selector, &spec.Template, path)
	return append(errs, validateCloneSetOwnFields(spec, old, path)...)
}

// validateCloneSetOwnFields checks all fields except the selector, which belongs to the UnitedDeployment
// if the set is embedded.
func validateCloneSetOwnFields(spec, old *apps.CloneSetSpec, path *field.Path) field.ErrorList {
	var oldTemplate *corev1.PodTemplateSpec
	if old != nil {
		oldTemplate = &old.Template
	}
	errs := notNegative(int64(ptr.Deref(spec.Replicas, 0)), path.Child("replicas"))
	errs = append(errs, validateTemplate(&spec.Template, oldTemplate, spec.VolumeClaimTemplates, path.Child("template"))...)
	errs = append(errs, validateClaimTemplates(spec.VolumeClaimTemplates, path.Child("volumeClaimTemplates"))...)
	errs = append(errs, validateScaleStrategy(&spec.ScaleStrategy, path.Child("scaleStrategy"))...)
	errs = append(errs, validateUpdateStrategy(&spec.UpdateStrategy, spec.Replicas, path.Child("updateStrategy"))...)
	errs = append(errs, notNegative(int64(spec.MinReadySeconds), path.Child("minReadySeconds"))...)
	errs = append(errs, notNegative(int64(ptr.Deref(spec.RevisionHistoryLimit, 0)), path.Child("revisionHistoryLimit"))...)
	return append(errs, validateProgressDeadline(spec, path.Child("progressDeadlineSeconds"))...)
}

// validateProgressDeadline allows math.MaxInt32, which turns the deadline off.
func validateProgressDeadline(spec *apps.CloneSetSpec, path *field.Path) field.ErrorList {
	deadline := spec.ProgressDeadlineSeconds
	if deadline == nil || *deadline == math.MaxInt32 {
		return nil
	}
	errs := notNegative(int64(*deadline), path)
	if *deadline <= spec.MinReadySeconds {
		errs = append(errs, field.Invalid(path, *deadline, "must be greater than minReadySeconds"))
	}
	return errs
}

func validateCloneSetInPlaceOnly(spec, old *apps.CloneSetSpec, path *field.Path) field.ErrorList {
	strategy := &spec.UpdateStrategy
	if strategy.Type == apps.OnDeleteCloneSetStrategyType || strategy.RollingUpdate == nil {
		return nil
	}
	return validateInPlaceOnly(strategy.RollingUpdate.PodUpdatePolicy, &spec.Template, &old.Template, path)
}
