package apps

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

func TestColumnsOfImageKinds(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	for want, kind := range map[string]rest.AnyKind{
		"Name DESIRED PULLING SUCCEED FAILED AGE":      nodeImage(gate, nil),
		"Name TOTAL ACTIVE SUCCEED FAILED AGE MESSAGE": imagePullJob(gate),
		"Name TOTAL SUCCEEDED COMPLETED AGE":           imageListPullJob(gate),
	} {
		description := kind.Describe()
		var names []string
		for _, column := range description.Columns {
			names = append(names, column.Name)
			assert.Zero(t, column.Priority, column.Name)
		}
		assert.Equal(t, want, strings.Join(names, " "))
		assert.Empty(t, description.Short)
		assert.Empty(t, description.Categories)
	}
	assert.True(t, nodeImage(gate, nil).Describe().ClusterScoped)
	assert.False(t, imagePullJob(gate).Describe().ClusterScoped)
}

// Case image-predownload 40.
func TestGatesOfImageKinds(t *testing.T) {
	for name, test := range map[string]struct {
		gates           map[string]bool
		job, list, node string
	}{
		"defaults":             {},
		"KruiseDaemon off":     {map[string]bool{"KruiseDaemon": false}, "KruiseDaemon", "KruiseDaemon", "KruiseDaemon"},
		"ImagePullJobGate off": {map[string]bool{"ImagePullJobGate": false}, "ImagePullJobGate", "ImagePullJobGate", ""},
	} {
		t.Run(name, func(t *testing.T) {
			gate, err := features.New("")
			require.NoError(t, err)
			require.NoError(t, gate.SetFromMap(test.gates))
			job, _ := imagePullJob(gate).(*rest.Kind[*apps.ImagePullJob])
			list, _ := imageListPullJob(gate).(*rest.Kind[*apps.ImageListPullJob])
			node, _ := nodeImage(gate, nil).(*rest.Kind[*apps.NodeImage])
			assert.Equal(t, []string{test.job, test.list, test.node}, []string{job.Closed, list.Closed, node.Closed})
		})
	}
}
