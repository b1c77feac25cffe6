package rest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// withEnv returns an object with 7 elements and the given number of variables.
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
	const most = mostElements - 7
	assert.Empty(t, rules.Validate(t.Context(), withEnv(most)))
	errs := rules.Validate(t.Context(), withEnv(most+1))
	require.Len(t, errs, 1)
	assert.EqualError(t, errs[0], fmt.Sprintf(
		"spec: Too many: %d: all lists and maps must have at most %d elements together; divide the object", mostElements+1, mostElements))

	assert.Empty(t, rules.ValidateUpdate(t.Context(), withEnv(most), withEnv(1)))
	assert.NotEmpty(t, rules.ValidateUpdate(t.Context(), withEnv(most+1), withEnv(most)))
	assert.Empty(t, rules.ValidateUpdate(t.Context(), withEnv(most+1), withEnv(most+2)), "an object of an older release can become smaller")
	assert.NotEmpty(t, rules.ValidateUpdate(t.Context(), withEnv(most+3), withEnv(most+2)))
}
