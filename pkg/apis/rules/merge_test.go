package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestStrategicMergeReturnsAnErrorForEveryWrongPatch(t *testing.T) {
	document := []byte(`{"metadata":{"finalizers":["x"]},"spec":{"nodeName":"n","containers":[{"name":"a"}]}}`)
	for _, patch := range []string{
		`{"spec":{"$retainKeys":[{}]}}`, `{"$retainKeys":[[]]}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":[{}]}}`,
		`{"metadata":{"$setElementOrder/finalizers":[{}],"finalizers":[{}]}}`, `{"spec":{"containers":[{"$patch":1}]}}`, `{"spec":`,
	} {
		_, err := StrategicMerge(document, []byte(patch), corev1.PodTemplateSpec{})
		assert.Error(t, err, patch)
	}
	merged, err := StrategicMerge(document, []byte(`{"spec":{"containers":[{"name":"a","image":"i"}]}}`), corev1.PodTemplateSpec{})
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"finalizers":["x"]},"spec":{"nodeName":"n","containers":[{"name":"a","image":"i"}]}}`, string(merged))
}

func TestWrongDirectiveIsFoundWithoutADocument(t *testing.T) {
	template := &corev1.PodTemplateSpec{}
	require.Error(t, CheckStrategicMerge([]byte(`{"spec":{"$retainKeys":[{}]}}`), template))
	require.Error(t, CheckStrategicMerge([]byte(`{"spec":{"containers":1}}`), template))
	require.NoError(t, CheckStrategicMerge([]byte(`{"metadata":{"labels":{"a":"b"}}}`), template))
	assert.Equal(t, map[string]string{"a": "b"}, template.Labels)
}

// The patch is merged into every new Pod, and the library compares each element of a list with all others.
func TestPatchIsLimited(t *testing.T) {
	at := field.NewPath("spec", "patch")
	list := func(length int) string {
		elements := make([]string, length)
		for i := range elements {
			elements[i] = fmt.Sprintf(`{"name":"e%d"}`, i)
		}
		return "[" + strings.Join(elements, ",") + "]"
	}
	long := func(bytes int) string {
		return `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", bytes) + `"}}}`
	}
	for name, test := range map[string]struct {
		patch string
		want  []string
	}{
		"small":        {patch: `{"spec":{"containers":[{"name":"a","env":[{"name":"b","value":"c"}]}]}}`},
		"100 elements": {patch: `{"spec":{"containers":` + list(100) + `}}`},
		"64 KiB":       {patch: long(65_000)},
		"101 elements": {
			`{"spec":{"containers":` + list(101) + `}}`, []string{"spec.patch.spec.containers: Too many: 101: must have at most 100 items"},
		},
		"in an element": {
			`{"spec":{"containers":[{"name":"a","env":` + list(101) + `}]}}`, []string{"spec.patch.spec.containers[0].env: Too many: 101"},
		},
		"more than 64 KiB": {long(66_000), []string{"spec.patch: Too long: must have at most 65536 bytes; move data to a ConfigMap"}},
		"of many directives": {
			`{"spec":{"$setElementOrder/containers":` + list(101) + `}}`, []string{"spec.patch.spec.$setElementOrder/containers: Too many"},
		},
		"of another type": {`{"spec":{"containers":1}}`, []string{"must be a patch of Pods: "}},
		"no patch":        {`{"spec":`, []string{"must be a patch of Pods: "}},
	} {
		t.Run(name, func(t *testing.T) {
			errs := ValidatePatch([]byte(test.patch), &corev1.Pod{}, "a patch of Pods", at)
			require.Len(t, errs, len(test.want), "%v", errs)
			for i, want := range test.want {
				assert.ErrorContains(t, errs[i], want)
			}
		})
	}
}

// A patch that was stored before there was a limit may stay and become shorter.
func TestLongPatchMayStay(t *testing.T) {
	errs := func(bytes int) field.ErrorList {
		return ValidatePatch(make([]byte, bytes), &corev1.Pod{}, "a patch of Pods", field.NewPath("patch"))
	}
	stored := func() field.ErrorList { return errs(70_000) }
	assert.Empty(t, WithoutStored(nil, nil, errs(70_000), stored))
	assert.Empty(t, WithoutStored(nil, nil, errs(69_999), stored))
	assert.NotEmpty(t, WithoutStored(nil, nil, errs(70_001), stored))
}
