package install_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kruise.io/kruise/pkg/generated/openapi"
)

// TestSchemaNamesTheOperations asks the published schema for the values of the one field that has
// only a few.
func TestSchemaNamesTheOperations(t *testing.T) {
	schemas := openapi.GetOpenAPIDefinitions(spec.MustCreateRef)
	const name = "io.kruise.kruise.pkg.apis.policy.v1beta1.PodUnavailableBudgetSpec"
	require.Contains(t, schemas, name)
	items := schemas[name].Schema.Properties["protectOperations"].Items.Schema
	assert.Equal(t, []any{"DELETE", "EVICT", "RESIZE", "UPDATE"}, items.Enum)
}
