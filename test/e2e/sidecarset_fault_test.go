//go:build e2e && fault

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestSidecarsOfThousandPodsKeepTheirBound upgrades the sidecars of 1,000 Pods on simulated nodes in place: at first alone, and then
// while the ten CloneSets of the Pods roll out. A watcher never sees more sidecars down than maxUnavailable allows. Pods that their
// CloneSet has taken out of service are updated in addition, because Pods that are not ready do not count.
// Case sidecarset 11.
func TestSidecarsOfThousandPodsKeepTheirBound(t *testing.T) {
	const sets, replicas, bound, outEach = 10, 100, 100, 10
	e := newEnv(t)
	name := e.sidecarSetFor("thousand", "{matchExpressions: [{key: app, operator: Exists}]}",
		strings.Replace(agentSpec, "maxUnavailable: 1", sprintf("maxUnavailable: %d", bound), 1))
	workloads := make([]string, sets)
	for i := range workloads {
		workloads[i] = sprintf("fleet-%d", i)
		e.apply(manifest(workloads[i], "replicas: 3", sprintf("replicas: %d", replicas),
			"maxUnavailable: 1", sprintf("maxUnavailable: %d", outEach), "      terminationGracePeriodSeconds: 5", onSimulatedNodes))
	}
	allReady := func() {
		for _, workload := range workloads {
			e.ready(workload, replicas)
		}
		e.upgraded(name, sets*replicas)
	}
	allReady()

	e.sidecarImage(name, "kruise.local/demo:v2")
	stop := e.sidecarsDown("app", name, "agent")
	allReady()
	alone := stop()
	assert.LessOrEqual(t, alone, bound)
	assert.Greater(t, alone, bound/2, "the watcher has seen the upgrade")

	e.sidecarImage(name, "kruise.local/demo:v1")
	stop = e.sidecarsDown("app", name, "agent")
	for _, workload := range workloads {
		e.image(workload, "kruise.local/demo:v2")
	}
	allReady()
	beside := stop()
	assert.LessOrEqual(t, beside, bound+sets*outEach)
	assert.Positive(t, beside, "the watcher has seen the upgrade")
	t.Logf("of %d Pods, at most %d sidecars were down at the same time, and %d beside the rollout of their CloneSets", sets*replicas, alone, beside)
}
