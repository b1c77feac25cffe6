package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/rules"
)

// What the stored object has wrong already may stay as it is, at its place.
func TestWithoutStored(t *testing.T) {
	wrong := func(name, value string) *field.Error { return field.Invalid(field.NewPath(name), value, "is wrong") }
	long := func(length, limit int) *field.Error { return field.TooMany(field.NewPath("list"), length, limit) }
	stored := func() field.ErrorList { return field.ErrorList{wrong("a", "1"), wrong("b", "1"), long(150, 100)} }
	for name, test := range map[string]struct{ errs, want field.ErrorList }{
		"nothing":                {nil, nil},
		"as it was":              {field.ErrorList{wrong("a", "1")}, nil},
		"another value":          {field.ErrorList{wrong("a", "2"), wrong("b", "1")}, field.ErrorList{wrong("a", "2")}},
		"another place":          {field.ErrorList{wrong("c", "1")}, field.ErrorList{wrong("c", "1")}},
		"as long as it was":      {field.ErrorList{long(150, 100)}, nil},
		"shorter than it was":    {field.ErrorList{long(149, 100)}, nil},
		"longer than it was":     {field.ErrorList{long(151, 100)}, field.ErrorList{long(151, 100)}},
		"shorter, another limit": {field.ErrorList{long(149, 120)}, field.ErrorList{long(149, 120)}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, rules.WithoutStored(nil, nil, test.errs, stored))
		})
	}
	rules.WithoutStored(nil, nil, nil, func() field.ErrorList {
		assert.Fail(t, "the stored object is not judged where the new one is right")
		return nil
	})
}

// element has the lists that objects have: of Kubernetes' types, with a key that a tag names, and of ours.
type element struct {
	metav1.ObjectMeta
	Spec struct {
		Template corev1.PodTemplateSpec
		Sidecars []struct{ corev1.Container }
		Tags     []struct{ Tag string }
		Words    []string
	}
}

// An old mistake may move within its list. What is wrong in one element does not excuse another one.
func TestMistakesAreFoundByTheKeysOfLists(t *testing.T) {
	containers := func(names ...string) *element {
		object := &element{}
		for _, name := range names {
			container := corev1.Container{Name: name, Ports: []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 443}}}
			object.Spec.Template.Spec.Containers = append(object.Spec.Template.Spec.Containers, container)
			object.Spec.Sidecars = append(object.Spec.Sidecars, struct{ corev1.Container }{container})
			object.Spec.Tags = append(object.Spec.Tags, struct{ Tag string }{name})
			object.Spec.Words = append(object.Spec.Words, name)
			object.Finalizers = append(object.Finalizers, name)
		}
		return object
	}
	tests := map[string]struct {
		stored, object *element
		// before and after are the paths of the same mistake in the stored object and in the new one.
		before, after string
		dropped       bool
	}{
		"the same place":             {containers("a"), containers("a"), "spec.template.spec.containers[0].image", "spec.template.spec.containers[0].image", true},
		"one more before it":         {containers("a"), containers("new", "a"), "spec.template.spec.containers[0].image", "spec.template.spec.containers[1].image", true},
		"another one in its place":   {containers("a"), containers("new", "a"), "spec.template.spec.containers[0].image", "spec.template.spec.containers[0].image", false},
		"renamed":                    {containers("a"), containers("b"), "spec.template.spec.containers[0].image", "spec.template.spec.containers[0].image", false},
		"deeper, in order":           {containers("a"), containers("new", "a"), "spec.template.spec.containers[0].ports[1].protocol", "spec.template.spec.containers[1].ports[1].protocol", true},
		"deeper, in another element": {containers("a"), containers("new", "a"), "spec.template.spec.containers[0].ports[1].protocol", "spec.template.spec.containers[1].ports[0].protocol", false},
		"embedded":                   {containers("a"), containers("new", "a"), "spec.sidecars[0].image", "spec.sidecars[1].image", true},
		"by a key of ours":           {containers("a"), containers("new", "a"), "spec.tags[0].version", "spec.tags[1].version", true},
		"a key twice":                {containers("a"), containers("a", "a"), "spec.template.spec.containers[0].image", "spec.template.spec.containers[1].image", false},
		"no key":                     {containers("a"), containers("new", "a"), "spec.words[0]", "spec.words[1]", false},
		"metadata":                   {containers("a"), containers("a"), "metadata.finalizers[0]", "metadata.finalizers[0]", true},
		"a key of a map":             {containers("a"), containers("a"), "metadata.annotations[a.b/c].x[0]", "metadata.annotations[a.b/c].x[0]", true},
		"beyond the list":            {containers("a"), containers("a"), "spec.template.spec.containers[7].image", "spec.template.spec.containers[7].image", true},
		"no such field":              {containers("a"), containers("a"), "spec.none.of[0].these", "spec.none.of[0].these", true},
		"odd paths":                  {containers("a"), containers("a"), "[0", "[0", true},
		"no path":                    {containers("a"), containers("a"), "", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wrong := func(path string) field.ErrorList {
				return field.ErrorList{{Type: field.ErrorTypeInvalid, Field: path, BadValue: "x", Detail: "is wrong"}}
			}
			left := rules.WithoutStored(test.object, test.stored, wrong(test.after), func() field.ErrorList { return wrong(test.before) })
			assert.Equal(t, test.dropped, len(left) == 0)
			for _, err := range left {
				assert.Equal(t, test.after, err.Field, "the user sees the path as it is")
			}
		})
	}
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
