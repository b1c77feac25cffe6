package refusals

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

// Case metrics 14.
// A user who makes objects only to have their deletion refused must not fill the memory of the server.
func TestSeriesAreBounded(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	counter := NewCounter("refusals", "Refusals.", "name")
	registry.MustRegister(counter.CounterVec)
	for i := range 3 * mostSeries {
		counter.Count(fmt.Sprint("object-", i%(2*mostSeries)), fmt.Sprint("user-", i%2))
	}
	counter.Count("object-0", "user-0")

	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	assert.Len(t, families[0].GetMetric(), mostSeries+1)
	value := func(object, user string) float64 {
		value, err := testutil.GetCounterMetricValue(counter.WithLabelValues(object, user))
		require.NoError(t, err)
		return value
	}
	assert.InDelta(t, 3, value("object-0", "user-0"), 0, "what has a series keeps it")
	assert.InDelta(t, mostSeries, value("other", "other"), 0, "none is lost")
}
