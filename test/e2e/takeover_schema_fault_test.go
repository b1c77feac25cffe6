//go:build e2e && fault

package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/takeover"
)

// openSchemas are the schemas that kruise-apiserver publishes, by name.
type openSchemas map[string]map[string]any

func (m *move) schemas() openSchemas {
	m.t.Helper()
	all := openSchemas{}
	for _, group := range takeover.Groups {
		for _, version := range []string{"v1alpha1", "v1beta1"} {
			text, err := m.core.Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis/" + group + "/" + version).DoRaw(m.t.Context())
			require.NoError(m.t, err)
			var document struct {
				Components struct {
					Schemas map[string]map[string]any `json:"schemas"`
				} `json:"components"`
			}
			require.NoError(m.t, json.Unmarshal(text, &document))
			maps.Copy(all, document.Components.Schemas)
		}
	}
	return all
}

// of returns the structural schema of a kind. Templates of Pods and other types of Kubernetes are open in it, as in OpenKruise's.
func (s openSchemas) of(kind schema.GroupVersionKind) map[string]any {
	for _, each := range s {
		kinds, _ := each["x-kubernetes-group-version-kind"].([]any)
		for _, one := range kinds {
			if one, ok := one.(map[string]any); ok && one["group"] == kind.Group && one["version"] == kind.Version && one["kind"] == kind.Kind {
				root := s.structural(each)
				if properties, ok := root["properties"].(map[string]any); ok {
					properties["metadata"] = map[string]any{"type": "object"}
				}
				return root
			}
		}
	}
	panic("no schema of " + kind.String())
}

// resolve follows references. It returns nil for a type of Kubernetes.
func (s openSchemas) resolve(node map[string]any) map[string]any {
	if all, _ := node["allOf"].([]any); len(all) == 1 {
		node, _ = all[0].(map[string]any)
	}
	reference, _ := node["$ref"].(string)
	if reference == "" {
		return node
	}
	name := reference[strings.LastIndex(reference, "/")+1:]
	if strings.HasPrefix(name, "io.k8s.api.") || strings.HasSuffix(name, "ObjectMeta") {
		return nil
	}
	return s.resolve(s[name])
}

// structural returns a schema without references, with the fields that a CustomResourceDefinition may have.
func (s openSchemas) structural(node map[string]any) map[string]any {
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	if node = s.resolve(node); node == nil {
		return open
	}
	if node["format"] == "int-or-string" || node["oneOf"] != nil {
		return map[string]any{"x-kubernetes-int-or-string": true}
	}
	out := map[string]any{}
	for _, field := range []string{"type", "format", "enum", "required"} {
		if value, found := node[field]; found {
			out[field] = value
		}
	}
	if out["format"] == "date-time" {
		out["nullable"] = true
	}
	for _, field := range []string{"items", "additionalProperties"} {
		if inner, ok := node[field].(map[string]any); ok {
			out[field] = s.structural(inner)
		}
	}
	properties, structured := node["properties"].(map[string]any)
	if structured {
		out["properties"] = s.fields(properties)
	}
	if required, ok := out["required"].([]any); ok {
		out["required"] = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return name == "status" })
	}
	if out["type"] == "object" && !structured && out["additionalProperties"] == nil {
		return open
	}
	return out
}

func (s openSchemas) fields(properties map[string]any) map[string]any {
	fields := map[string]any{}
	for name, property := range properties {
		if property, ok := property.(map[string]any); ok {
			fields[name] = s.structural(property)
		}
	}
	return fields
}
