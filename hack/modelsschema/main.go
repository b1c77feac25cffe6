// Command modelsschema prints the OpenAPI models of the served types as an OpenAPI v2 document.
// applyconfiguration-gen reads the document, so that apply configurations know how lists are merged.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kruise.io/kruise/pkg/generated/openapi"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// asV2 returns the OpenAPI v2 schema of a model. Some models contain one that differs from their v3 schema.
func asV2(model spec.Schema) spec.Schema {
	if v2, ok := model.Extensions[common.ExtensionV2Schema].(spec.Schema); ok {
		return v2
	}
	return model
}

// run prints the document to the standard output. Only the definitions matter to its reader.
func run() error {
	definitions := map[string]spec.Schema{}
	models := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/definitions/" + name)
	})
	for name, model := range models {
		definitions[name] = asV2(model.Schema)
	}
	document := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "Kruise", Version: "unversioned"}},
		Paths:       &spec.Paths{},
		Definitions: definitions,
	}}
	if err := json.NewEncoder(os.Stdout).Encode(document); err != nil {
		return fmt.Errorf("print the models: %w", err)
	}
	return nil
}
