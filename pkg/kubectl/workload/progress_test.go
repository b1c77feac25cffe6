package workload_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kruise.io/kruise/pkg/kubectl/workload"
)

// With OnDelete, all Pods shall be updated, because a partition has no effect.
func TestTargetOfAPartition(t *testing.T) {
	for strategy, test := range map[string]struct {
		target      int
		partitioned bool
	}{
		"{}":                              {3, false},
		"{rollingUpdate: {partition: 2}}": {1, true},
		"{type: OnDelete, rollingUpdate: {partition: 2}}": {3, false},
	} {
		t.Run(strategy, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			encoded, err := yaml.YAMLToJSON([]byte(`{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet,
metadata: {name: web}, spec: {replicas: 3, updateStrategy: ` + strategy + `}}`))
			require.NoError(t, err)
			require.NoError(t, object.UnmarshalJSON(encoded))
			w, err := workload.Of(object)
			require.NoError(t, err)
			progress, err := w.Progress()
			require.NoError(t, err)
			assert.Equal(t, test.target, progress.Target)
			assert.Equal(t, test.partitioned, progress.Partitioned)
		})
	}
}
