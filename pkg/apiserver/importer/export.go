package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Export returns a stored object in JSON, in the version. Without a version, it is the stored one. value is the
// object after decryption. Claim templates are as they are stored, without apiVersion and kind, which only clients of this server see. A
// server of CustomResourceDefinitions would store both, and a revision of a UnitedDeployment would then have another template.
func (c *Converter) Export(resource schema.GroupResource, value []byte, version string) ([]byte, error) {
	for _, kind := range c.kinds {
		if kind.Resource() != resource {
			continue
		}
		target := kind.StoredVersion()
		if version != "" {
			target.Version = version
		}
		hub, err := runtime.Decode(kind.codec, value)
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
		versioned, err := c.scheme.ConvertToVersion(hub, target)
		if err != nil {
			return nil, fmt.Errorf("convert to %s: %w", target, err)
		}
		// Conversion does not set the kind in the object, but the JSON needs it.
		versioned.GetObjectKind().SetGroupVersionKind(target.WithKind(kind.hub.Kind))
		data, err := json.Marshal(versioned)
		if err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
		return withoutTypesOfClaims(data)
	}
	return nil, fmt.Errorf("resource %s is not one of %s", resource, strings.Join(c.kindNames(), ", "))
}

// withoutTypesOfClaims removes apiVersion and kind from the claim templates of a workload, and of the templates in a UnitedDeployment.
func withoutTypesOfClaims(data []byte) ([]byte, error) {
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &object.Object); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	owners := []any{object.Object}
	template, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template")
	if templates, ok := template.(map[string]any); ok {
		owners = slices.AppendSeq(owners, maps.Values(templates))
	}
	for _, owner := range owners {
		fields, _ := owner.(map[string]any)
		claims, _, _ := unstructured.NestedFieldNoCopy(fields, "spec", "volumeClaimTemplates")
		list, _ := claims.([]any)
		for i := range list {
			if claim, ok := list[i].(map[string]any); ok {
				delete(claim, "apiVersion")
				delete(claim, "kind")
			}
		}
	}
	return json.Marshal(object.Object)
}
