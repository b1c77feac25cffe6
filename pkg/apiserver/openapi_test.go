package apiserver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/kube-openapi/pkg/validation/spec"

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
