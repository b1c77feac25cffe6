package podprober

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
)

// The fifth probe of a Pod waits for a place while others run, so it begins late.
func TestLateProbesAreCounted(t *testing.T) {
	RegisterMetrics()
	late := func() float64 {
		value, err := testutil.GetCounterMetricValue(lateProbes)
		require.NoError(t, err)
		return value
	}
	patient := func(p *v1alpha1.ContainerProbe) { p.Probe.TimeoutSeconds = 30 }
	run := func(entries ...string) float64 {
		var began float64
		specs := entry("web")
		for _, name := range entries {
			specs.Probes = append(specs.Probes, command("m#"+name, "check", period(10), patient))
		}
		inWorld(t, func(w *world) {
			w.runtime.start("uid-web", "main", "A")
			w.runtime.does("check", takes(15*time.Second, succeeds("")))
			began = late()
			w.begin()
			agenttest.Pass(5 * time.Minute)
		}, specs)
		return late() - began
	}
	assert.Zero(t, run("a", "b", "c", "d"), "a slow probe is not late")
	assert.Positive(t, run("a", "b", "c", "d", "e", "f"))
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	var names []string
	for _, family := range families {
		names = append(names, family.GetName())
	}
	assert.Contains(t, names, "kruise_node_agent_probe_late_total")
}
