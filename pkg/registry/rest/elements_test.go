package rest

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// withEnv returns an object with the given number of variables.
func withEnv(variables int) *sample {
	object := newSample()
	object.ManagedFields = make([]metav1.ManagedFieldsEntry, 10)
	object.Status.Conditions = make([]corev1.ReplicationControllerCondition, 10)
	object.Finalizers = []string{"a/b", "c/d"}
	object.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Env: make([]corev1.EnvVar, variables)}, {Command: []string{"x"}},
	}}}
	return object
}

// Each element costs some rules. An object that has too many is refused before they run.
func TestElementsAreLimited(t *testing.T) {
	kind := newKind()
	kind.ErrorsIn, kind.Validate = nil, func(*sample) field.ErrorList { return nil }
	kind.ValidateUpdate = func(_, _ *sample) field.ErrorList { return nil }
	rules := kind.strategy(nil)
	counted := elementsOf(reflect.TypeFor[*sample]())
	most := mostElements - counted(reflect.ValueOf(withEnv(0)))
	assert.Empty(t, rules.Validate(t.Context(), withEnv(most)))
	errs := rules.Validate(t.Context(), withEnv(most+1))
	require.Len(t, errs, 1)
	assert.EqualError(t, errs[0], fmt.Sprintf(
		"spec: Too many: %d: the number of lists, maps and their elements must be at most %d; divide the object", mostElements+1, mostElements))

	assert.Empty(t, rules.ValidateUpdate(t.Context(), withEnv(most), withEnv(1)))
	assert.NotEmpty(t, rules.ValidateUpdate(t.Context(), withEnv(most+1), withEnv(most)))
	assert.Empty(t, rules.ValidateUpdate(t.Context(), withEnv(most+1), withEnv(most+2)), "an object of an older release can become smaller")
	assert.NotEmpty(t, rules.ValidateUpdate(t.Context(), withEnv(most+3), withEnv(most+2)))

	// The manager limits what each tenant adds to an object for a node.
	kind.ForNodes = true
	assert.Empty(t, kind.strategy(nil).Validate(t.Context(), withEnv(most+1)))
}

// The rules of a container look at each of its lists, also at those that are empty.
func TestEmptyListsOfElementsCount(t *testing.T) {
	containers := func(number int) reflect.Value {
		return reflect.ValueOf(&corev1.PodSpec{Containers: make([]corev1.Container, number)})
	}
	counted := elementsOf(reflect.TypeFor[*corev1.PodSpec]())
	assert.Equal(t, 13, counted(containers(2))-counted(containers(1)), "a container and its 12 lists and maps")
	assert.Equal(t, 1, counted(reflect.ValueOf(&corev1.PodSpec{Tolerations: make([]corev1.Toleration, 1)}))-counted(containers(0)))
}
