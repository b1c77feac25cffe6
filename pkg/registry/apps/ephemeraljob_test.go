package apps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

func defaultGate(t *testing.T) featuregate.MutableFeatureGate {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	return gate
}

// columns returns the column names of a table. wide holds those that only "-o wide" shows.
func columns(kind rest.AnyKind) (narrow, wide []string) {
	for _, column := range kind.Describe().Columns[1:] {
		if column.Priority > 0 {
			wide = append(wide, column.Name)
		} else {
			narrow = append(narrow, column.Name)
		}
	}
	return narrow, wide
}

func TestEphemeralJobIsDescribed(t *testing.T) {
	kind := ephemeralJob(defaultGate(t))
	narrow, wide := columns(kind)
	assert.Equal(t, []string{"STATUS", "MATCH", "SUCCEED", "FAILED", "RUNNING", "WAITING", "AGE"}, narrow)
	assert.Empty(t, wide)
	assert.Equal(t, []string{"ejob"}, kind.Describe().Short)
	assert.False(t, kind.Describe().ClusterScoped)
}
