package validation

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/podtemplate"
)

const inPlaceOnlyMessage = "with InPlaceOnly, only container images can change; put the stored value back, or use InPlaceIfPossible"

// validateInPlaceOnly refuses a change that cannot be made in place. The metadata of the template may
// change. Both templates are compared with defaults, so that an unset field is not a change.
func validateInPlaceOnly(policy pub.PodUpdatePolicyType, template, old *corev1.PodTemplateSpec, spec *field.Path) field.ErrorList {
	if policy != pub.InPlaceOnlyPodUpdatePolicy {
		return nil
	}
	path := spec.Child("template", "spec")
	current, stored := template.DeepCopy(), old.DeepCopy()
	podtemplate.Default(current, nil, nil)
	podtemplate.Default(stored, nil, nil)

	errs := validateContainersInPlace(current.Spec.Containers, stored.Spec.Containers, path.Child("containers"))
	current.Spec.Containers, stored.Spec.Containers = nil, nil
	for _, name := range changedFields(&current.Spec, &stored.Spec) {
		errs = append(errs, field.Forbidden(path.Child(name), inPlaceOnlyMessage))
	}
	return errs
}

func validateContainersInPlace(current, stored []corev1.Container, path *field.Path) field.ErrorList {
	if len(current) != len(stored) {
		return field.ErrorList{field.Forbidden(path, inPlaceOnlyMessage)}
	}
	var errs field.ErrorList
	for i := range current {
		stored[i].Image = current[i].Image
		for _, name := range changedFields(&current[i], &stored[i]) {
			errs = append(errs, field.Forbidden(path.Index(i).Child(name), inPlaceOnlyMessage))
		}
	}
	return errs
}

// changedFields are the JSON names of the fields in which two structs of one type differ.
func changedFields[T any](current, stored *T) []string {
	var names []string
	a, b := reflect.ValueOf(current).Elem(), reflect.ValueOf(stored).Elem()
	for i := range a.NumField() {
		if !apiequality.Semantic.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}
