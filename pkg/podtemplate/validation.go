package podtemplate

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

// Validate runs core's rules for a Pod template of a workload. old is the stored template, nil on create: values that newer
// rules refuse but that are stored already may stay. What the template leaves unset is judged as if it had been defaulted. The
// arguments are not changed.
func Validate(template, old *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	current, err := asCore(template)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	stored, err := asCore(old)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	options := pod.GetValidationOptionsFromPodTemplate(current, stored)
	errs := bound(&current.Spec, path.Child("spec"))
	return append(errs, corevalidation.ValidatePodTemplateSpec(current, path, options)...)
}

// ValidateClaimSpec runs core's rules for the spec of a claim that is yet to be created. The claim is not changed.
func ValidateClaimSpec(claim *corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	defaulted := claim.DeepCopy()
	corev1conversion.SetObjectDefaults_PersistentVolumeClaim(defaulted)
	converted := &core.PersistentVolumeClaim{}
	if err := corev1conversion.Convert_v1_PersistentVolumeClaim_To_core_PersistentVolumeClaim(defaulted, converted, nil); err != nil {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("convert claim template: %w", err))}
	}
	// The claims are created later, so there is no stored one to compare with.
	options := corevalidation.ValidationOptionsForPersistentVolumeClaimCreate()
	return corevalidation.ValidatePersistentVolumeClaimSpec(&converted.Spec, path, options)
}

// largestWarned is the size of the largest template that core looks at for warnings, in bytes. Core compares each path of a volume with all
// others. Hand-written templates are much smaller.
const largestWarned = 64 << 10

// Warnings returns what kube-apiserver would tell the user of a Deployment about a template: deprecated fields, duplicate names
// and the like. old is the stored template, nil on create. A template that cannot be converted gives its error as a warning. A very large
// one gives none.
func Warnings(ctx context.Context, template, old *corev1.PodTemplateSpec, path *field.Path) []string {
	if template.Size() > largestWarned {
		return nil
	}
	current, err := asCore(template)
	if err != nil {
		return []string{err.Error()}
	}
	stored, err := asCore(old)
	if err != nil {
		return []string{err.Error()}
	}
	return pod.GetWarningsForPodTemplate(ctx, path, current, stored)
}

// asCore returns a defaulted copy of the template in core's internal form, on which core's rules work. It returns nil for nil.
func asCore(template *corev1.PodTemplateSpec) (*core.PodTemplateSpec, error) {
	if template == nil {
		return nil, nil
	}
	defaulted := template.DeepCopy()
	setDefaults(defaulted, nil)
	converted := &core.PodTemplateSpec{}
	if err := corev1conversion.Convert_v1_PodTemplateSpec_To_core_PodTemplateSpec(defaulted, converted, nil); err != nil {
		return nil, fmt.Errorf("convert pod template: %w", err)
	}
	return converted, nil
}
