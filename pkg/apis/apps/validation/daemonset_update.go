package validation

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

func validateDaemonSetUpdateStrategy(strategy *apps.DaemonSetUpdateStrategy, path *field.Path) field.ErrorList {
	if strategy.Type != apps.RollingUpdateDaemonSetStrategyType {
		return oneOf(path.Child("type"), strategy.Type, apps.RollingUpdateDaemonSetStrategyType, apps.OnDeleteDaemonSetStrategyType)
	}
	if strategy.RollingUpdate == nil {
		return field.ErrorList{field.Required(path.Child("rollingUpdate"), "required with type RollingUpdate; use {} for the defaults")}
	}
	return validateRollingUpdateDaemonSet(strategy.RollingUpdate, path.Child("rollingUpdate"))
}

func validateRollingUpdateDaemonSet(rolling *apps.RollingUpdateDaemonSet, path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("rollingUpdateType"), rolling.RollingUpdateType, apps.StandardRollingUpdateType, apps.InplaceRollingUpdateType)
	errs = append(errs, validateDaemonSetPace(rolling, path)...)
	errs = append(errs, validateShare(rolling.Partition, path.Child("partition"))...)
	if rolling.Selector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(
			rolling.Selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
	}
	return errs
}

// validateDaemonSetPace checks maxUnavailable and maxSurge. Exactly one of them must be greater than 0.
func validateDaemonSetPace(rolling *apps.RollingUpdateDaemonSet, path *field.Path) field.ErrorList {
	errs := validateShare(rolling.MaxUnavailable, path.Child("maxUnavailable"))
	errs = append(errs, validateShare(rolling.MaxSurge, path.Child("maxSurge"))...)
	if len(errs) > 0 {
		return errs
	}
	unavailable, surge := isMoreThanZero(rolling.MaxUnavailable), isMoreThanZero(rolling.MaxSurge)
	switch {
	case unavailable && surge:
		errs = append(errs, field.Invalid(path.Child("maxSurge"), rolling.MaxSurge.String(),
			"may not be set when maxUnavailable is non-zero; set one of them to 0"))
	case !unavailable && !surge:
		errs = append(errs, field.Required(path.Child("maxUnavailable"),
			"cannot be 0 when maxSurge is 0, because then no Pod can be updated; raise one of them"))
	}
	if surge && rolling.RollingUpdateType == apps.InplaceRollingUpdateType {
		errs = append(errs, field.Invalid(path.Child("maxSurge"), rolling.MaxSurge.String(),
			"must be 0 with InPlaceIfPossible, because in-place updates keep the Pod; set it to 0, or use Standard"))
	}
	return errs
}

// validateShare checks a number of nodes, or a percentage of all.
func validateShare(value *intstr.IntOrString, path *field.Path) field.ErrorList {
	if errs := validateWholeAmount(value, path); len(errs) > 0 || value == nil {
		return errs
	}
	if percent, _ := resolve(value, 100); value.Type == intstr.String && percent > 100 {
		return field.ErrorList{field.Invalid(path, value.String(), "must not be greater than 100%")}
	}
	return nil
}

func isMoreThanZero(value *intstr.IntOrString) bool {
	if value == nil {
		return false
	}
	amount, _ := resolve(value, 100)
	return amount > 0
}
