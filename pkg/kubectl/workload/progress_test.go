package workload_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kruise.io/kruise/pkg/kubectl/workload"
)

// With OnDelete, all Pods are to be updated, because a partition has no effect.
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

// The controllers of CloneSets round a percentage up, and those of DaemonSets round it down.
func TestPercentageIsRoundedAsByTheController(t *testing.T) {
	for kind, want := range map[string]int{"CloneSet": 3, "DaemonSet": 4} {
		w, err := workload.Of(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps.kruise.io/v1beta1", "kind": kind, "metadata": map[string]any{"name": "web"},
			"status": map[string]any{"desiredNumberScheduled": int64(7)},
			"spec": map[string]any{
				"replicas": int64(7), "updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": "50%"}},
			},
		}})
		require.NoError(t, err)
		progress, err := w.Progress()
		require.NoError(t, err)
		assert.Equal(t, want, progress.Target, kind)
	}
}
