package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/podtemplate"
)

// validateTemplate runs core's rules for a template whose Pods must keep running. The
// claim templates stand in as volumes, so that containers may mount them.
func validateTemplate(template, old *corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	own := len(template.Spec.Volumes)
	errs := withoutStandIns(podtemplate.Validate(withClaims(template, claims), old, path), own, path)
	if policy := template.Spec.RestartPolicy; policy != "" && policy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(path.Child("spec", "restartPolicy"), policy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("spec", "activeDeadlineSeconds"),
			"not supported, because Pods of this workload must keep running; remove the field, or use a Job"))
	}
	return errs
}

// withClaims returns a copy of the template in which each claim is a volume. It replaces the volume with
// the same name, or is appended.
func withClaims(template *corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim) *corev1.PodTemplateSpec {
	if len(claims) == 0 {
		return template
	}
	result := template.DeepCopy()
	names := sets.New[string]()
	for i := range claims {
		names.Insert(claims[i].Name)
	}
	for i := range result.Spec.Volumes {
		if volume := &result.Spec.Volumes[i]; names.Has(volume.Name) {
			volume.VolumeSource = claimSource(volume.Name)
			names.Delete(volume.Name)
		}
	}
	for _, name := range sets.List(names) {
		result.Spec.Volumes = append(result.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: claimSource(name)})
	}
	return result
}

func claimSource(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// withoutStandIns drops errors about volumes that the user did not write. The error of the claim is
// clearer.
func withoutStandIns(errs field.ErrorList, own int, path *field.Path) field.ErrorList {
	volumes := path.Child("spec", "volumes")
	var result field.ErrorList
	for _, err := range errs {
		index := 0
		if _, scanErr := fmt.Sscanf(strings.TrimPrefix(err.Field, volumes.String()), "[%d]", &index); scanErr == nil && index >= own {
			continue
		}
		result = append(result, err)
	}
	return result
}

// maxItems limits lists in specs whose items each cost a program work for every Pod of the object.
const maxItems = 100

// atMost refuses a list with more than maxItems items. A list that is stored already can stay as long as it is,
// and become shorter.
func atMost(items int, path *field.Path) field.ErrorList {
	if items > maxItems {
		return field.ErrorList{field.TooMany(path, items, maxItems)}
	}
	return nil
}

func validateClaimTemplates(claims []corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	errs := atMost(len(claims), path)
	seen := sets.New[string]()
	for i := range claims {
		at := path.Index(i)
		name := claims[i].Name
		switch {
		case name == "":
			errs = append(errs, field.Required(at.Child("metadata", "name"), "required, because containers mount the claim by its name"))
		case seen.Has(name):
			errs = append(errs, field.Duplicate(at.Child("metadata", "name"), name))
		default:
			for _, message := range validation.IsDNS1123Label(name) {
				errs = append(errs, field.Invalid(at.Child("metadata", "name"), name, message))
			}
		}
		seen.Insert(name)
		errs = append(errs, podtemplate.ValidateClaimSpec(&claims[i], at.Child("spec"))...)
	}
	return errs
}
