package rules

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
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
