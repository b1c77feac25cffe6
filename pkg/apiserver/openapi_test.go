package apiserver

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/generated/openapi"
)

// TestEveryFieldIsDescribed reports fields for which "kubectl explain" would show only the name.
func TestEveryFieldIsDescribed(t *testing.T) {
	found := 0
	for name, definition := range openapi.GetOpenAPIDefinitions(spec.MustCreateRef) {
		if !strings.HasPrefix(name, "io.kruise.") {
			continue
		}
		found++
		assert.NotEmpty(t, definition.Schema.Description, name)
		for field, schema := range definition.Schema.Properties {
			ofMeta := strings.HasSuffix(name, "List") && (field == "metadata" || field == "items") || field == "metadata"
			assert.True(t, ofMeta || schema.Description != "", "%s.%s has no description", name, field)
		}
	}
	assert.NotZero(t, found)
}

// kubectl apply chooses the type of its patch by these content types.
func TestNodeImagesAreAppliedWithJSONMergePatches(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	w := newWorld(t)
	config := NewConfig(w.scheme, w.codecs, gate).Generic
	merge, strategic := string(types.MergePatchType), string(types.StrategicMergePatchType)
	for path, strategicToo := range map[string]bool{
		"/apis/apps.kruise.io/v1beta1/nodeimages/{name}":                       false,
		"/apis/apps.kruise.io/v1alpha1/nodeimages/{name}/status":               false,
		"/apis/apps.kruise.io/v1beta1/namespaces/{namespace}/clonesets/{name}": true,
	} {
		ofRoute := []string{strategic, merge}
		swagger := &spec.Swagger{SwaggerProps: spec.SwaggerProps{Paths: &spec.Paths{Paths: map[string]spec.PathItem{path: {
			PathItemProps: spec.PathItemProps{Patch: &spec.Operation{OperationProps: spec.OperationProps{Consumes: ofRoute}}},
		}}}}}
		swagger, err := config.OpenAPIConfig.PostProcessSpec(swagger)
		require.NoError(t, err)
		assert.Equal(t, strategicToo, slices.Contains(swagger.Paths.Paths[path].Patch.Consumes, strategic), path)
		assert.Contains(t, swagger.Paths.Paths[path].Patch.Consumes, merge, path)
		assert.Equal(t, []string{strategic, merge}, ofRoute, "the server itself still takes both")

		body := &spec3.RequestBody{RequestBodyProps: spec3.RequestBodyProps{Content: map[string]*spec3.MediaType{strategic: {}, merge: {}}}}
		openapi, err := config.OpenAPIV3Config.PostProcessSpec(&spec3.OpenAPI{Paths: &spec3.Paths{Paths: map[string]*spec3.Path{
			path:            {PathProps: spec3.PathProps{Patch: &spec3.Operation{OperationProps: spec3.OperationProps{RequestBody: body}}}},
			path + "/other": {},
		}}})
		require.NoError(t, err)
		content := openapi.Paths.Paths[path].Patch.RequestBody.Content
		assert.Equal(t, strategicToo, content[strategic] != nil, path)
		assert.Contains(t, content, merge, path)
	}
}
