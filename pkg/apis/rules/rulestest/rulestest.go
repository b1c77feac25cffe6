// Package rulestest holds the checks that the validation of every kind must pass. Enter at Create.
package rulestest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object is an object of a kind.
type Object interface {
	runtime.Object
	metav1.Object
}

// Errors compares errors with "<path>: <text that the error contains>", in any order.
func Errors(t *testing.T, want []string, got field.ErrorList) {
	t.Helper()
	require.Len(t, got, len(want), "%v", got)
	for _, expected := range want {
		path, detail, _ := strings.Cut(expected, ": ")
		found := false
		for _, err := range got {
			found = found || err.Field == path && strings.Contains(err.Error(), detail)
		}
		require.True(t, found, "no error %q in %v", expected, got)
	}
}

// Create checks the errors of a creation, and that validation does not change the object.
func Create[T Object](t *testing.T, object T, validate func(T) field.ErrorList, want []string) {
	t.Helper()
	before := object.DeepCopyObject()
	Errors(t, want, validate(object))
	require.Equal(t, before, runtime.Object(object), "validation must not change what it judges")
}

// UpdateOfLabels checks that an update which only changes labels has no errors, whatever mistakes the stored object has. object and
// stored are equal.
func UpdateOfLabels[T Object](t *testing.T, object, stored T, validate func(object, old T) field.ErrorList) {
	t.Helper()
	object.SetLabels(map[string]string{"another": "change"})
	Errors(t, nil, validate(object, stored))
}
