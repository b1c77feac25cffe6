package apiserver

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// hideStrategicMerge makes kubectl apply send JSON merge patches for NodeImages. apimachinery cannot merge maps of objects with a
// strategic merge patch, and spec.images is such a map. kubectl chooses the patch by the content types in OpenAPI, in v3 if it can. It
// reads any path of the kind, so /status has the same ones. The server still takes strategic merge patches, which can change other
// fields.
func hideStrategicMerge(config *genericapiserver.Config) {
	config.OpenAPIConfig.PostProcessSpec = func(swagger *spec.Swagger) (*spec.Swagger, error) {
		for path, item := range swagger.Paths.Paths {
			if item.Patch != nil && isNodeImage(path) {
				// The slice is that of the route.
				item.Patch.Consumes = slices.DeleteFunc(slices.Clone(item.Patch.Consumes), func(contentType string) bool {
					return contentType == string(types.StrategicMergePatchType)
				})
			}
		}
		return swagger, nil
	}
	config.OpenAPIV3Config.PostProcessSpec = func(openapi *spec3.OpenAPI) (*spec3.OpenAPI, error) {
		for path, item := range openapi.Paths.Paths {
			if item.Patch != nil && isNodeImage(path) {
				delete(item.Patch.RequestBody.Content, string(types.StrategicMergePatchType))
			}
		}
		return openapi, nil
	}
}

func isNodeImage(path string) bool {
	return strings.Contains(path, "/nodeimages/{name}")
}
