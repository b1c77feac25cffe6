//go:build e2e && fault

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/podstate"
)

const (
	// hostileProbes hang in each Pod of the tenant, and hostileRequests wait for containers that do not stop.
	hostileProbes, hostileRequests = 20, 5
	// delayed is how many times longer others may wait than before or after the tenant's attack.
	delayed = 3
)

// TestHostileTenantDelaysNobodyElse has a tenant whose restarts and probes never end, on the node of another tenant. The agent stays
// small, and serves the other one about as fast as before and after that. NODE_LOAD_PODS sets another number of hostile Pods than 20.
func TestHostileTenantDelaysNobodyElse(t *testing.T) {
	e, tenant := newEnv(t), newEnv(t)
	pods, rounds := sizeOf(t, "NODE_LOAD_PODS", 20), sizeOf(t, "NODE_LOAD_ROUNDS", 10)
	node := e.realNodes()[0]
	e.grow("web", node.Name, 1)
	e.apply(filled(gameServers, "terminationGracePeriodSeconds", "nodeSelector: {kubernetes.io/hostname: "+node.Name+"}\n      terminationGracePeriodSeconds"))
	e.ready("game", 1)
	e.apply(marker("m", idleProbe))
	e.marked("the game is marked", func(c *require.Assertions, pods []corev1.Pod) {
		c.Contains(resultOf(&pods[0], "e2e/idle"), "True idle for ")
	})
	tenant.apply(hostile(node.Name, pods))
	tenant.allReady("hostile", pods)

	restart, probe := e.restartTimes("quiet", rounds), e.probeTimes(rounds)
	before := e.usageOf(&node)
	t.Logf("quiet: a restart takes %v, a probe shows a change after %v; the agent has %.1f MiB", restart, probe, before.resident/(1<<20))

	end := tenant.attack(pods)
	tenant.eventually("the agent works on all requests", func(c *require.Assertions, _ context.Context) {
		requests := tenant.requests()
		c.Len(requests, pods*hostileRequests)
		for i := range requests {
			c.NotEmpty(requests[i].Status.Phase)
		}
	})
	restartBusy, probeBusy := e.restartTimes("busy", rounds), e.probeTimes(rounds)
	after := e.usageOf(&node)
	used := after.since(before)
	t.Logf("beside %d hostile Pods with %d probes and %d requests each: %v and %v; %s", pods, hostileProbes, hostileRequests, restartBusy, probeBusy,
		used.report(after.at.Sub(before.at)))
	assert.Less(t, used.resident, float64(mostResident))
	for _, request := range tenant.requests() {
		assert.Nil(t, request.Status.CompletionTime, "it is still hostile")
	}
	end()
	// The kubelet still runs the hooks of the containers, which only sleep. The agent has nothing to do for them any more.
	e.writesEnd(&node)
	restartAfter, probeAfter := e.restartTimes("after", rounds), e.probeTimes(rounds)
	t.Logf("after them: %v and %v", restartAfter, probeAfter)
	assert.Less(t, restartBusy, delayed*max(restart, restartAfter))
	assert.Less(t, probeBusy, delayed*max(probe, probeAfter))
}

// hostile is a CloneSet whose containers take ten minutes to stop.
func hostile(node string, pods int) string {
	return filled(onNode("hostile", node, pods), "terminationGracePeriodSeconds: 5", "terminationGracePeriodSeconds: 600",
		"        ports:", "        lifecycle: {preStop: {exec: {command: [/demo, sleep, \"600\"]}}}\n        ports:")
}

// attack creates probes that hang, and requests for containers that do not stop. The returned function ends it. It deletes the Pods by
// force, or they would outlive the test.
func (e *env) attack(pods int) (end func()) {
	e.t.Helper()
	end = func() {
		ctx := context.WithoutCancel(e.t.Context())
		_ = e.kruise.AppsV1beta1().CloneSets(e.namespace).Delete(ctx, "hostile", metav1.DeleteOptions{})
		_ = e.command(ctx, "delete", "pods", "--all", "--force", "--grace-period=0").Run()
	}
	e.t.Cleanup(end)
	probes := ""
	for i := range hostileProbes {
		probes += sprintf(`
  - {name: p%d, containerName: main, podConditionType: e2e/p%d, probe: {periodSeconds: 1, timeoutSeconds: 600, exec: {command: [/demo, sleep, "600"]}}}`, i, i)
	}
	e.apply("apiVersion: apps.kruise.io/v1alpha1\nkind: PodProbeMarker\nmetadata: {name: hostile}\nspec:\n" +
		"  selector: {matchLabels: {app: hostile}}\n  probes:" + probes + "\n")
	targets := e.pods("hostile")
	require.Len(e.t, targets, pods)
	for i := range targets {
		for j := range hostileRequests {
			require.NoError(e.t, e.restart(e.t.Context(), sprintf("%s-%d", targets[i].Name, j), targets[i].Name, true))
		}
	}
	return end
}

// restartTimes returns the median time from a request until its container is ready again.
func (e *env) restartTimes(name string, rounds int) time.Duration {
	e.t.Helper()
	var times []time.Duration
	for i := range rounds {
		request := sprintf("%s-%d", name, i)
		began := time.Now()
		require.NoError(e.t, e.restart(e.t.Context(), request, e.pods("web")[0].Name, false))
		require.NoError(e.t, e.waitFor(e.t.Context(), request))
		times = append(times, time.Since(began))
		state := e.recreateRequest(request).Status.ContainerRecreateStates[0]
		assert.Equal(e.t, v1beta1.ContainerRecreateRequestSucceeded, state.Phase, "%+v", state)
	}
	return median(times)
}

// probeTimes returns the median time until a condition of the game's Pod shows a change that a probe finds.
func (e *env) probeTimes(rounds int) time.Duration {
	e.t.Helper()
	var times []time.Duration
	for i := range rounds {
		players, want := "2", corev1.ConditionFalse
		if i%2 == 1 {
			players, want = "0", corev1.ConditionTrue
		}
		pod := e.pods("game")[0]
		e.play(&pod, players)
		began := time.Now()
		for {
			pod = e.pods("game")[0]
			if found := podstate.Condition(&pod, "e2e/idle"); found != nil && found.Status == want {
				break
			}
			require.Less(e.t, time.Since(began), patience, "the probe does not show %s players", players)
			<-time.After(50 * time.Millisecond)
		}
		times = append(times, time.Since(began))
	}
	if rounds%2 == 1 {
		pod := e.pods("game")[0]
		e.play(&pod, "0")
	}
	return median(times)
}
