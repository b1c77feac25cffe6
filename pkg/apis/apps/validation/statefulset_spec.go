package validation

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
)

// validateStatefulSetSpec checks a spec. old is the stored one, nil on create.
func validateStatefulSetSpec(spec, old *apps.StatefulSetSpec, path *field.Path) field.ErrorList {
	errs := validateSelector("statefulset", spec.Selector, &spec.Template, path)
	return append(errs, validateStatefulSetOwnFields(spec, old, path)...)
}

// validateStatefulSetOwnFields checks all fields except the selector, which belongs to the
// UnitedDeployment if the set is embedded.
func validateStatefulSetOwnFields(spec, old *apps.StatefulSetSpec, path *field.Path) field.ErrorList {
	var oldTemplate *corev1.PodTemplateSpec
	if old != nil {
		oldTemplate = withoutHostname(&old.Template)
	}
	errs := notNegative(int64(ptr.Deref(spec.Replicas, 0)), path.Child("replicas"))
	errs = append(errs, validateTemplate(withoutHostname(&spec.Template), oldTemplate, spec.VolumeClaimTemplates, path.Child("template"))...)
	errs = append(errs, validateClaimTemplates(spec.VolumeClaimTemplates, path.Child("volumeClaimTemplates"))...)
	errs = append(errs, validateClaimPolicies(spec, path)...)
	errs = append(errs, validateServiceName(spec.ServiceName, path.Child("serviceName"))...)
	errs = append(errs, oneOf(path.Child("podManagementPolicy"), spec.PodManagementPolicy,
		appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)...)
	errs = append(errs, validateStatefulSetUpdateStrategy(spec, path.Child("updateStrategy"))...)
	errs = append(errs, notNegative(int64(ptr.Deref(spec.RevisionHistoryLimit, 0)), path.Child("revisionHistoryLimit"))...)
	for i := range spec.ReserveOrdinals {
		errs = append(errs, validateReserved(&spec.ReserveOrdinals[i], path.Child("reserveOrdinals").Index(i))...)
	}
	if spec.ScaleStrategy != nil {
		errs = append(errs, validateStatefulSetPace(spec.ScaleStrategy.MaxUnavailable, spec.PodManagementPolicy,
			path.Child("scaleStrategy", "maxUnavailable"))...)
	}
	if spec.Ordinals != nil {
		errs = append(errs, notNegative(int64(spec.Ordinals.Start), path.Child("ordinals", "start"))...)
	}
	return errs
}

// withoutHostname is a copy of the template without the two fields that the controller sets for
// each Pod anyway.
func withoutHostname(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	result := template.DeepCopy()
	result.Spec.Hostname, result.Spec.Subdomain = "", ""
	return result
}

// validateServiceName checks the name that becomes the subdomain of each Pod: with an invalid name, no Pod
// could be created.
func validateServiceName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	var errs field.ErrorList
	for _, message := range validation.IsDNS1123Label(name) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	return errs
}

const reservedMessage = `must be a non-negative number such as 3, or a range such as "0-2" with the smaller number first`

// validateReserved checks a number that no Pod gets, or a range of them.
func validateReserved(value *intstr.IntOrString, path *field.Path) field.ErrorList {
	valid := value.IntVal >= 0
	if value.Type == intstr.String {
		first, last, found := strings.Cut(value.StrVal, "-")
		start, startErr := strconv.ParseUint(first, 10, 31)
		end, endErr := strconv.ParseUint(last, 10, 31)
		valid = found && startErr == nil && endErr == nil && start <= end
	}
	if valid {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.String(), reservedMessage)}
}
