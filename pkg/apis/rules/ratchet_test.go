package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/rules"
)

// What the stored object has wrong already may stay as it is, at its place.
func TestWithoutStored(t *testing.T) {
	wrong := func(name, value string) *field.Error { return field.Invalid(field.NewPath(name), value, "is wrong") }
	stored := func() field.ErrorList { return field.ErrorList{wrong("a", "1"), wrong("b", "1")} }
	for name, test := range map[string]struct{ errs, want field.ErrorList }{
		"nothing":       {nil, nil},
		"as it was":     {field.ErrorList{wrong("a", "1")}, nil},
		"another value": {field.ErrorList{wrong("a", "2"), wrong("b", "1")}, field.ErrorList{wrong("a", "2")}},
		"another place": {field.ErrorList{wrong("c", "1")}, field.ErrorList{wrong("c", "1")}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, rules.WithoutStored(test.errs, stored))
		})
	}
	rules.WithoutStored(nil, func() field.ErrorList {
		assert.Fail(t, "the stored object is not judged where the new one is right")
		return nil
	})
}
