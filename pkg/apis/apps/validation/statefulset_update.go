package validation

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// maxMinReadySeconds bounds how long an update waits for each Pod.
const maxMinReadySeconds = 300

func validateStatefulSetUpdateStrategy(spec *apps.StatefulSetSpec, path *field.Path) field.ErrorList {
	strategy, block := &spec.UpdateStrategy, path.Child("rollingUpdate")
	errs := oneOf(path.Child("type"), strategy.Type,
		appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType)
	if strategy.RollingUpdate == nil {
		return errs
	}
	if strategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return append(errs, field.Invalid(block, field.OmitValueType{}, "only allowed with type RollingUpdate; remove it, or change type"))
	}
	return append(errs, validateRollingUpdateStatefulSet(strategy.RollingUpdate, spec, block)...)
}

func validateRollingUpdateStatefulSet(
	rolling *apps.RollingUpdateStatefulSetStrategy, spec *apps.StatefulSetSpec, path *field.Path,
) field.ErrorList {
	errs := oneOf(path.Child("podUpdatePolicy"), rolling.PodUpdatePolicy,
		pub.ReCreatePodUpdatePolicy, pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceOnlyPodUpdatePolicy)
	errs = append(errs, validateReadinessGate(rolling.PodUpdatePolicy, spec.Template.Spec.ReadinessGates, path.Child("podUpdatePolicy"))...)
	errs = append(errs, notNegative(int64(ptr.Deref(rolling.Partition, 0)), path.Child("partition"))...)
	errs = append(errs, validateStatefulSetPace(rolling.MaxUnavailable, spec.PodManagementPolicy, path.Child("maxUnavailable"))...)
	if rolling.UnorderedUpdate != nil {
		at := path.Child("unorderedUpdate")
		if spec.PodManagementPolicy != appsv1.ParallelPodManagement {
			errs = append(errs, field.Forbidden(at, "can only work with Parallel podManagementPolicy; remove it"))
		}
		errs = append(errs, validatePriority(rolling.UnorderedUpdate.PriorityStrategy, at.Child("priorityStrategy"))...)
	}
	if rolling.InPlaceUpdateStrategy != nil {
		errs = append(errs, notNegative(int64(rolling.InPlaceUpdateStrategy.GracePeriodSeconds),
			path.Child("inPlaceUpdateStrategy", "gracePeriodSeconds"))...)
	}
	ready := ptr.Deref(rolling.MinReadySeconds, 0)
	if ready > maxMinReadySeconds {
		errs = append(errs, field.Invalid(path.Child("minReadySeconds"), ready, "must be no more than 300 seconds"))
	}
	return append(errs, notNegative(int64(ready), path.Child("minReadySeconds"))...)
}

// validateReadinessGate asks for the gate that keeps a Pod from being ready while it is updated
// in place. It is part of each Pod from the start and cannot be added later.
func validateReadinessGate(policy pub.PodUpdatePolicyType, gates []corev1.PodReadinessGate, path *field.Path) field.ErrorList {
	if policy != pub.InPlaceIfPossiblePodUpdatePolicy && policy != pub.InPlaceOnlyPodUpdatePolicy {
		return nil
	}
	for _, gate := range gates {
		if gate.ConditionType == pub.InPlaceUpdateReadyConditionType {
			return nil
		}
	}
	return field.ErrorList{field.Invalid(path, policy, fmt.Sprintf(
		"needs conditionType %s in template.spec.readinessGates; add it", pub.InPlaceUpdateReadyConditionType))}
}

// validateStatefulSetPace checks a maxUnavailable. One Pod at a time is all that OrderedReady does.
func validateStatefulSetPace(value *intstr.IntOrString, policy appsv1.PodManagementPolicyType, path *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	if errs := validateWholeAmount(value, path); len(errs) > 0 {
		return errs
	}
	if amount, _ := resolve(value, 1); amount < 1 {
		return field.ErrorList{field.Invalid(path, value.String(), "must be at least 1, because with 0 no Pod is updated; raise it")}
	}
	if policy != appsv1.ParallelPodManagement && *value != intstr.FromInt32(1) {
		return field.ErrorList{field.Invalid(path, value.String(),
			"can only work with Parallel podManagementPolicy; with OrderedReady, set it to 1")}
	}
	return nil
}
