package imagepuller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"kruise.io/kruise/pkg/nodeagent/agenttest"
)

func TestPullsAreCounted(t *testing.T) {
	RegisterMetrics()
	ended := func(result string) float64 {
		value, err := testutil.GetCounterMetricValue(pullsEnded.WithLabelValues(result))
		require.NoError(t, err)
		return value
	}
	active := func() float64 {
		value, err := testutil.GetGaugeMetricValue(pullsActive)
		require.NoError(t, err)
		return value
	}
	good, bad := ended(succeeded), ended(failed)
	inWorld(t, wants("nginx", tag("1"), tag("2")), func(w *world) {
		w.config.MaxPulls = 1
		w.runtime.answers(hang)
		w.start()
		assert.InDelta(t, 1, active(), 0, "the second pull waits for its turn")
		w.runtime.answers(nil)
		w.change(wants("nginx", tag("1", version(1)), tag("2", version(1))))
		agenttest.Pass(time.Minute)
		assert.InDelta(t, good+2, ended(succeeded), 0, "a pull that is replaced has no result")
	})
	inWorld(t, wants("nginx", tag("1", tries(5, 1))), func(w *world) {
		w.runtime.answers(refuse)
		w.start()
		agenttest.Pass(time.Minute)
	})
	assert.InDelta(t, bad+1, ended(failed), 0, "two attempts are one pull")
	assert.Zero(t, active())
	registry := metrics.NewKubeRegistry()
	registry.MustRegister(pullSeconds)
	families, err := registry.Gather()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, families[0].GetMetric()[0].GetHistogram().GetSampleCount(), uint64(3))
}
