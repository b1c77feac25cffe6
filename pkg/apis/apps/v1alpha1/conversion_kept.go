package v1alpha1

import "kruise.io/kruise/pkg/apis/annotation"

// KeptFieldsAnnotation contains, on an object served as v1alpha1, the fields that only v1beta1 has, so
// that a write through v1alpha1 does not lose them. Its value is JSON, a kept type of the kind. It is set
// only if data would be lost, and it is never stored.
const KeptFieldsAnnotation = "apps.kruise.io/v1beta1-fields"

// withKept returns annotations that hold kept too.
func withKept(annotations map[string]string, kept any) (map[string]string, error) {
	return annotation.Keep(annotations, KeptFieldsAnnotation, kept)
}

// takeKept reads what withKept wrote into kept, and returns the annotations without it. If the text was
// not written by withKept, the annotation does not change.
func takeKept[T any](annotations map[string]string, kept *T) (rest map[string]string, found bool) {
	return annotation.Take(annotations, KeptFieldsAnnotation, kept)
}

func with(values map[string]string, key, value string) map[string]string {
	return annotation.With(values, key, value)
}

func without(values map[string]string, key string) map[string]string {
	return annotation.Without(values, key)
}
