package v1beta1_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// A strategic merge, which kubectl uses to apply and to edit, knows no fields of embedded objects:
// it replaces them as a whole.
func TestEmbeddedObjectsCanBePatched(t *testing.T) {
	const (
		resource = `{"spec":{"resource":{"kind":"ConfigMap","data":{"a":"b"}}}}`
		changed  = `{"spec":{"resource":{"kind":"ConfigMap","data":{"c":"d"}}}}`
		subset   = `{"spec":{"subsets":[{"name":"a","patch":{"metadata":{"labels":{"a":"b"}}}}]}}`
		another  = `{"spec":{"subsets":[{"name":"a","patch":{"metadata":{"labels":{"c":"d"}}}}]}}`
	)
	for name, test := range map[string]struct {
		stored, patch string
		kind          any
	}{
		"resource in v1alpha1": {resource, changed, v1alpha1.ResourceDistribution{}},
		"resource in v1beta1":  {resource, changed, v1beta1.ResourceDistribution{}},
		"patch in v1alpha1":    {subset, another, v1alpha1.WorkloadSpread{}},
		"patch in v1beta1":     {subset, another, v1beta1.WorkloadSpread{}},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := strategicpatch.StrategicMergePatch([]byte(test.stored), []byte(test.patch), test.kind)
			require.NoError(t, err)
			assert.JSONEq(t, test.patch, string(result))
		})
	}
}
