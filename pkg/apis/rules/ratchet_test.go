package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// TestReplaced judges metadata too, and an object against the one that is stored.
func TestReplaced(t *testing.T) {
	stored, object := &metav1.ObjectMeta{UID: "1", Name: "old"}, &metav1.ObjectMeta{UID: "2", Name: "new"}
	judge := func(one *metav1.ObjectMeta) field.ErrorList {
		return field.ErrorList{field.Required(field.NewPath("always"), ""), field.Required(field.NewPath(one.Name), "")}
	}
	var named []string
	for _, err := range rules.Replaced(object, stored, judge) {
		named = append(named, err.Field)
	}
	assert.ElementsMatch(t, []string{"metadata.name", "metadata.uid", "metadata.resourceVersion", "new"}, named)
}
