package containerrestart

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/testutil"
)

func TestStoppedContainersAreCounted(t *testing.T) {
	RegisterMetrics()
	count := func(result string) float64 {
		value, err := testutil.GetCounterMetricValue(recreates.WithLabelValues(result))
		require.NoError(t, err)
		return value
	}
	good, bad := count(stopped), count(failed)
	simulate(t, func(w *world) {
		w.node.stopErr["app"] = errors.New("busy")
		w.create("r", "p", []string{"app", "sidecar"}, ignore)
		w.completed("r")
	})
	assert.InDelta(t, good+1, count(stopped), 0)
	assert.InDelta(t, bad+1, count(failed), 0)
}
