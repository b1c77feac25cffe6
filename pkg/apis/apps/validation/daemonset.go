package validation

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
)

// ValidateDaemonSet checks a new DaemonSet.
func ValidateDaemonSet(set *apps.DaemonSet) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&set.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateDaemonSetSpec(&set.Spec, nil, field.NewPath("spec"))...)
}

// ValidateDaemonSetUpdate checks an update of a DaemonSet.
func ValidateDaemonSetUpdate(set, old *apps.DaemonSet) field.ErrorList {
	spec := field.NewPath("spec")
	errs := replaced(set, old, func(one *apps.DaemonSet) field.ErrorList {
		return validateDaemonSetSpec(&one.Spec, &old.Spec, spec)
	})
	return append(errs, unchanged("DaemonSet", spec.Child("selector"), set.Spec.Selector, old.Spec.Selector)...)
}

// ValidateDaemonSetStatusUpdate checks an update of a status.
func ValidateDaemonSetStatusUpdate(set, old *apps.DaemonSet) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&set.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	status, path := &set.Status, field.NewPath("status")
	errs = append(errs, notNegative(status.ObservedGeneration, path.Child("observedGeneration"))...)
	errs = append(errs, validateCounts([]count{
		{"currentNumberScheduled", status.CurrentNumberScheduled},
		{"numberMisscheduled", status.NumberMisscheduled},
		{"desiredNumberScheduled", status.DesiredNumberScheduled},
		{"numberReady", status.NumberReady},
		{"updatedNumberScheduled", status.UpdatedNumberScheduled},
		{"numberAvailable", status.NumberAvailable},
		{"numberUnavailable", status.NumberUnavailable},
	}, path)...)
	return append(errs, validateCollisionCount(status.CollisionCount, old.Status.CollisionCount, path.Child("collisionCount"))...)
}

// validateDaemonSetSpec checks a spec. old is the stored one, nil on create.
func validateDaemonSetSpec(spec, old *apps.DaemonSetSpec, path *field.Path) field.ErrorList {
	var oldTemplate *corev1.PodTemplateSpec
	if old != nil {
		oldTemplate = &old.Template
	}
	errs := validateSelector("daemonset", spec.Selector, &spec.Template, path)
	errs = append(errs, validateTemplate(&spec.Template, oldTemplate, nil, path.Child("template"))...)
	errs = append(errs, validateDaemonSetUpdateStrategy(&spec.UpdateStrategy, path.Child("updateStrategy"))...)
	errs = append(errs, notNegative(int64(spec.MinReadySeconds), path.Child("minReadySeconds"))...)
	errs = append(errs, validateWholeAmount(spec.BurstReplicas, path.Child("burstReplicas"))...)
	errs = append(errs, notNegative(int64(ptr.Deref(spec.RevisionHistoryLimit, 0)), path.Child("revisionHistoryLimit"))...)
	if spec.Lifecycle != nil && spec.Lifecycle.InPlaceUpdate != nil {
		errs = append(errs, field.Forbidden(path.Child("lifecycle", "inPlaceUpdate"),
			"a DaemonSet does not support this hook; remove it"))
	}
	return errs
}

// WarnDaemonSet names what a write sets and what will not have the effect that its user wants.
func WarnDaemonSet(_ context.Context, set, old *apps.DaemonSet) (warnings []string) {
	hooked := func(set *apps.DaemonSet) bool {
		return set.Spec.Lifecycle != nil && set.Spec.Lifecycle.PreNormal != nil
	}
	spec := field.NewPath("spec")
	if hooked(set) && (old == nil || !hooked(old)) {
		warnings = append(warnings, spec.Child("lifecycle", "preNormal").String()+": a DaemonSet stores this field but ignores it")
	}
	if surgeMeetsPorts(set) && (old == nil || !surgeMeetsPorts(old)) {
		warnings = append(warnings, spec.Child("updateStrategy", "rollingUpdate", "maxSurge").String()+
			": the old and the new Pod of a node need the same host port, so updates cannot complete; set maxSurge to 0 and maxUnavailable to 1")
	}
	return warnings
}

// surgeMeetsPorts reports whether an update creates new Pods beside old ones although only one of them can have a port of the node.
func surgeMeetsPorts(set *apps.DaemonSet) bool {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.MaxSurge == nil || rolling.MaxSurge.IntVal == 0 && strings.Trim(rolling.MaxSurge.StrVal, "0%") == "" {
		return false
	}
	spec := &set.Spec.Template.Spec
	for i := range spec.Containers {
		for j := range spec.Containers[i].Ports {
			if spec.HostNetwork || spec.Containers[i].Ports[j].HostPort != 0 {
				return true
			}
		}
	}
	return false
}
