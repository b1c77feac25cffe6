package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/rules"
)

func TestAnswerIsShort(t *testing.T) {
	path, long := field.NewPath("spec", "list"), strings.Repeat("ä", 1<<20)
	var many field.ErrorList
	for i := range 1000 {
		many = append(many, field.Invalid(path.Index(i), i, "is wrong"))
	}
	shown := rules.Shown(many)
	require.Len(t, shown, 101)
	assert.Equal(t, many[:100], shown[:100])
	assert.Equal(t, "spec: Invalid value: 900 more errors are not listed; correct the listed ones first", shown[100].Error())
	assert.Equal(t, many[:100], rules.Shown(many[:100]))
	assert.Empty(t, rules.Shown(nil))

	for name, err := range map[string]*field.Error{
		"text":    field.Invalid(path, long, "is wrong"),
		"object":  field.Invalid(path, map[string]string{"a": long}, "is wrong"),
		"pointer": field.Invalid(path, &metav1.LabelSelector{MatchLabels: map[string]string{"a": long}}, "is wrong"),
		"detail":  field.Forbidden(path, long),
		"path":    field.Required(path.Key(long), "is missing"),
	} {
		t.Run(name, func(t *testing.T) {
			before := *err
			answer := rules.Invalid(schema.GroupKind{Kind: "A"}, "name", field.ErrorList{err}).Error()
			assert.Less(t, len(answer), 8<<10)
			assert.Contains(t, answer, "bytes)")
			assert.True(t, utf8.ValidString(answer))
			assert.Equal(t, before, *err, "the error of the caller stays as it is")
		})
	}
	short := field.Invalid(path, &metav1.LabelSelector{}, "is wrong")
	assert.Same(t, short, rules.Shown(field.ErrorList{short})[0])
}

// withEnv returns an object with one container, whose variables have the prefix in their names, and an error for each of them.
func withEnv(number int, prefix string) (object *element, wrong func(*element) field.ErrorList) {
	container := corev1.Container{Name: "one"}
	for i := range number {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("%s%d=", prefix, i)})
	}
	object = &element{}
	object.Spec.Template.Spec.Containers = []corev1.Container{container}
	return object, func(object *element) (errs field.ErrorList) {
		path := field.NewPath("spec", "template", "spec", "containers").Index(0).Child("env")
		for i, variable := range object.Spec.Template.Spec.Containers[0].Env {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), variable.Name, "is wrong"))
		}
		return errs
	}
}

// The cost of a refused update must grow with the size of the object, not with its square: otherwise one request occupies a core for hours.
// A list has 1,000 errors, and 20,000 other elements.
func TestRatchetingIsNearLinear(t *testing.T) {
	refuse := func(number, wrongOnes int) time.Duration {
		stored, wrong := withEnv(number, "a")
		changed, _ := withEnv(number, "b")
		start := time.Now()
		left := rules.WithoutStored(changed, stored, wrong(changed)[:wrongOnes], func() field.ErrorList { return wrong(stored)[:wrongOnes] })
		_ = rules.Invalid(schema.GroupKind{Kind: "A"}, "name", left)
		took := time.Since(start)
		assert.Len(t, left, wrongOnes)
		return took
	}
	for _, wrongOnes := range []int{1000, 2000} {
		refuse(2_000, wrongOnes)
		short := max(refuse(2_000, wrongOnes), 5*time.Millisecond)
		long := refuse(20_000, wrongOnes)
		t.Logf("%d errors in 2,000 elements: %s, in 20,000: %s", wrongOnes, short, long)
		assert.Less(t, long, short*30, "10 times as many elements")
	}
}

// An object with very many old mistakes can lose its finalizers.
func TestUnchangedPartIsNotRefusedForManyMistakes(t *testing.T) {
	stored, wrong := withEnv(2_000, "a")
	changed, _ := withEnv(2_000, "a")
	notAsked := func() field.ErrorList { return field.ErrorList{field.Forbidden(field.NewPath("asked"), "")} }
	stored.Finalizers = []string{"a/b"}
	errs := append(wrong(changed), field.Required(field.NewPath("metadata", "name"), ""), field.Required(nil, ""))
	assert.Len(t, rules.WithoutStored(changed, stored, errs, notAsked), 2)
	changed.Spec.Words = []string{"another"}
	assert.Len(t, rules.WithoutStored(changed, stored, errs, notAsked), 2002)
}
