package apps

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

// Case cloneset 2.
func TestCloneSetColumns(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	kind, ok := cloneSet(gate).(*rest.Kind[*apps.CloneSet])
	require.True(t, ok)
	var narrow, wide []string
	for _, column := range kind.Columns {
		if column.Wide {
			wide = append(wide, column.Name)
		} else {
			narrow = append(narrow, column.Name)
		}
	}
	assert.Equal(t, "DESIRED UPDATED UPDATED_READY UPDATED_AVAILABLE READY TOTAL AGE", strings.Join(narrow, " "))
	assert.Equal(t, "CONTAINERS IMAGES SELECTOR", strings.Join(wide, " "))
}

func TestTemplatesAreDefaultedUnlessTheGateSaysNo(t *testing.T) {
	for _, off := range []bool{false, true} {
		gate, err := features.New("")
		require.NoError(t, err)
		require.NoError(t, gate.SetFromMap(map[string]bool{string(features.TemplateNoDefaults): off}))
		kind, ok := cloneSet(gate).(*rest.Kind[*apps.CloneSet])
		require.True(t, ok)
		set := &apps.CloneSet{}
		set.Labels = map[string]string{pub.CloneSetScalingExcludePreparingDeleteKey: "true"}
		kind.Default(set, nil)
		assert.Equal(t, off, set.Spec.Template.Spec.RestartPolicy == "")
		assert.True(t, set.Spec.ScaleStrategy.ExcludePreparingDelete, "the field follows the label in any case")
	}
}
