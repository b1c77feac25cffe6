package apps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

func TestProbesAreDescribed(t *testing.T) {
	for _, kind := range []rest.AnyKind{podProbeMarker(defaultGate(t)), nodePodProbe()} {
		narrow, wide := columns(kind)
		assert.Equal(t, []string{"AGE"}, narrow)
		assert.Empty(t, wide)
		assert.Empty(t, kind.Describe().Short)
	}
	assert.False(t, podProbeMarker(defaultGate(t)).Describe().ClusterScoped)
	assert.True(t, nodePodProbe().Describe().ClusterScoped)
}

// Writes are refused if the feature gate of the kind or that of the node agent is off.
// Case podprobemarker 24.
func TestPodProbeMarkerNeedsItsGates(t *testing.T) {
	for _, off := range []featuregate.Feature{"", features.PodProbeMarkerGate, features.KruiseDaemon} {
		gate := defaultGate(t)
		if off != "" {
			require.NoError(t, gate.SetFromMap(map[string]bool{string(off): false}))
		}
		kind, ok := podProbeMarker(gate).(*rest.Kind[*apps.PodProbeMarker])
		require.True(t, ok)
		assert.Equal(t, string(off), kind.Closed)
	}
}
