package validation

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

func validateUpdateStrategy(strategy *apps.CloneSetUpdateStrategy, replicas *int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch strategy.Type {
	case apps.RollingUpdateCloneSetStrategyType:
		if strategy.RollingUpdate == nil {
			errs = append(errs, field.Required(path.Child("rollingUpdate"), "required with type RollingUpdate; use {} for the defaults"))
		}
	case apps.OnDeleteCloneSetStrategyType:
	default:
		errs = append(errs, field.NotSupported(path.Child("type"), strategy.Type, []apps.CloneSetUpdateStrategyType{
			apps.RollingUpdateCloneSetStrategyType, apps.OnDeleteCloneSetStrategyType,
		}))
	}
	if strategy.RollingUpdate != nil {
		errs = append(errs, validateRollingUpdate(strategy.RollingUpdate, ptr.Deref(replicas, 0), path.Child("rollingUpdate"))...)
	}
	return errs
}

func validateRollingUpdate(rolling *apps.RollingUpdateCloneSetStrategy, replicas int32, path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("podUpdatePolicy"), rolling.PodUpdatePolicy,
		pub.ReCreatePodUpdatePolicy, pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceOnlyPodUpdatePolicy)
	errs = append(errs, validateAmount(rolling.Partition, path.Child("partition"))...)
	errs = append(errs, validatePace(rolling, replicas, path)...)
	errs = append(errs, validatePriority(rolling.PriorityStrategy, path.Child("priorityStrategy"))...)
	errs = append(errs, validateScatter(rolling.ScatterStrategy, path.Child("scatterStrategy"))...)
	return append(errs, validateInPlaceUpdateStrategy(rolling.InPlaceUpdateStrategy, path.Child("inPlaceUpdateStrategy"))...)
}

// validatePace checks maxUnavailable and maxSurge, alone and together.
func validatePace(rolling *apps.RollingUpdateCloneSetStrategy, replicas int32, path *field.Path) field.ErrorList {
	errs := validateAmount(rolling.MaxUnavailable, path.Child("maxUnavailable"))
	errs = append(errs, validateAmount(rolling.MaxSurge, path.Child("maxSurge"))...)
	if len(errs) > 0 {
		return errs
	}
	unavailable, _ := resolve(new(ptr.Deref(rolling.MaxUnavailable, intstr.FromString("20%"))), replicas)
	surge, _ := resolve(new(ptr.Deref(rolling.MaxSurge, intstr.FromInt32(0))), replicas)
	if rolling.PodUpdatePolicy == pub.InPlaceOnlyPodUpdatePolicy && surge > 0 {
		errs = append(errs, field.Invalid(path.Child("maxSurge"), rolling.MaxSurge.String(),
			"must be 0 with InPlaceOnly, because updates create no Pods; set it to 0, or use InPlaceIfPossible"))
	}
	if replicas > 0 && unavailable < 1 && surge < 1 {
		errs = append(errs, field.Invalid(path.Child("maxUnavailable"), rolling.MaxUnavailable.String(),
			"maxUnavailable and maxSurge should not both be less than 1, because then no Pod can be updated; raise one of them"))
	}
	return errs
}

func validateInPlaceUpdateStrategy(strategy *apps.InPlaceUpdateStrategy, path *field.Path) field.ErrorList {
	if strategy == nil {
		return nil
	}
	errs := notNegative(int64(strategy.GracePeriodSeconds), path.Child("gracePeriodSeconds"))
	errs = append(errs, validateNumber(strategy.ImagePreDownloadParallelism, "nodes", path.Child("imagePreDownloadParallelism"))...)
	timeout := int64(ptr.Deref(strategy.ImagePreDownloadTimeoutSeconds, 0))
	errs = append(errs, notNegative(timeout, path.Child("imagePreDownloadTimeoutSeconds"))...)
	return append(errs,
		validateNumber(strategy.ImagePreDownloadMinUpdatedReadyPods, "Pods", path.Child("imagePreDownloadMinUpdatedReadyPods"))...)
}

// validateNumber refuses percentages. what is counted, for the message.
func validateNumber(value *intstr.IntOrString, what string, path *field.Path) field.ErrorList {
	if value == nil || value.Type == intstr.Int && value.IntVal >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.String(), "must be a non-negative number of "+what+" such as 5, not a percentage")}
}
