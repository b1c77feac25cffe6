//go:build bench

package main

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kruise.io/kruise/pkg/generated/openapi"
)

// structural returns the schema of a type in the form that a CustomResourceDefinition requires: without references.
func structural(name string) map[string]any {
	definitions := openapi.GetOpenAPIDefinitions(spec.MustCreateRef)
	root := inlined(definitions, definitions[name].Schema)
	properties := root["properties"].(map[string]any)
	properties["metadata"] = map[string]any{"type": "object"}
	return root
}

func inlined(definitions map[string]common.OpenAPIDefinition, schema spec.Schema) map[string]any {
	if name := schema.Ref.String(); name != "" {
		switch {
		case strings.HasSuffix(name, ".Quantity") || strings.HasSuffix(name, ".IntOrString"):
			return map[string]any{"x-kubernetes-int-or-string": true}
		case name == (metav1.ObjectMeta{}).OpenAPIModelName():
			return map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
		}
		return inlined(definitions, definitions[name].Schema)
	}
	result := map[string]any{}
	if len(schema.Type) > 0 {
		result["type"] = schema.Type[0]
	}
	if schema.Format != "" {
		result["format"] = schema.Format
	}
	if len(schema.Enum) > 0 {
		result["enum"] = schema.Enum
	}
	if len(schema.Required) > 0 {
		result["required"] = texts(schema.Required)
	}
	if schema.Items != nil {
		result["items"] = inlined(definitions, *schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		result["additionalProperties"] = inlined(definitions, *schema.AdditionalProperties.Schema)
	}
	if len(schema.Properties) > 0 {
		properties := map[string]any{}
		for field, property := range schema.Properties {
			properties[field] = inlined(definitions, property)
		}
		result["properties"] = properties
	}
	return result
}

func texts(values []string) (all []any) {
	for _, value := range values {
		all = append(all, value)
	}
	return all
}
