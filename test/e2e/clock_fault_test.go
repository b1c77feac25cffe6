//go:build e2e && fault

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/test/hostcontroller"
)

// minReady is how long a Pod of the rollout must be ready, and rolledPods is the number of its Pods, which are updated one by one.
const (
	minReady   = 8 * time.Second
	rolledPods = 3
)

// TestControllerWithAWrongClock runs the controller with a clock that is an hour ahead, and then an hour behind, while 20 CloneSets have
// 200 Pods. No time limit of half an hour ends, nothing that is due in half an hour starts, and a rollout waits for the time that its
// Pods must be ready, not shorter and not longer.
func TestControllerWithAWrongClock(t *testing.T) {
	l := startLoad(t)
	e, outer := l.e, t
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	binary, err := hostcontroller.BuildWithClock(t.Context(), root, t.TempDir())
	require.NoError(t, err)
	e.limits()
	jobs := e.createdJobs()
	giveBack, err := hostcontroller.TakeOver(t.Context(), e.core)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, giveBack(context.WithoutCancel(t.Context()))) })
	for name, ahead := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			e.t = t
			defer func() { e.t = outer }()
			process, err := hostcontroller.New(t.Context(), binary, os.Getenv("KUBECONFIG"), filepath.Join(root, ".local", "log", "clock-"+name+".log"))
			require.NoError(t, err)
			process.Ahead(ahead)
			require.NoError(t, process.Start(context.WithoutCancel(t.Context())))
			defer func() { require.NoError(t, process.Kill()) }()

			waiting, began := e.pending(), time.Now()
			e.apply(manifest(name, "replicas: 3", sprintf("replicas: %d\n  minReadySeconds: %d", rolledPods, int(minReady.Seconds())),
				"      terminationGracePeriodSeconds: 5", onSimulatedNodes))
			e.ready(name, rolledPods)
			assert.GreaterOrEqual(t, time.Since(began), minReady-2*time.Second)
			updated := time.Now()
			e.image(name, "kruise.local/demo:v2")
			e.ready(name, rolledPods)
			rollout := time.Since(updated)
			t.Logf("%d Pods were updated in %s, each ready for %s before the next", rolledPods, rollout.Round(time.Second), minReady)
			// Both the time at which a Pod was ready and the time of the server are known to the second.
			assert.GreaterOrEqual(t, rollout, rolledPods*(minReady-2*time.Second))

			assert.Equal(t, waiting, e.uids(), "the WorkloadSpread waits for Pods that are not scheduled")
			e.kubectl("delete", "cloneset,workloadspread", "web", "--wait=true")
			e.eventually("the Pods are gone", func(c *require.Assertions, _ context.Context) { c.Empty(e.pods("web")) })
			for end := time.Now().Add(*hold); time.Now().Before(end); <-time.After(time.Second) {
				l.undisturbed(t)
			}
			metrics, err := process.Metrics(t.Context())
			require.NoError(t, err)
			assert.InDelta(t, -ahead.Seconds(), metrics.Sum("kruise_clock_offset_seconds"), 5)
			for _, job := range []string{"long", "done"} {
				_, err := e.broadcastJob(t.Context(), job)
				assert.NoError(t, err, "the time limits of jobs have not passed")
			}
			long, err := e.broadcastJob(t.Context(), "long")
			require.NoError(t, err)
			assert.Equal(t, v1beta1.BroadcastJobRunning, long.Status.Phase)
			assert.NotEmpty(t, e.pods("long"))
			assert.Empty(t, jobs(), "the AdvancedCronJob is due later")
			l.report(t)
		})
	}
}

// limits creates objects with a limit of half an hour: BroadcastJobs that run and that have ended, and an AdvancedCronJob.
func (e *env) limits() {
	e.t.Helper()
	const limit = 30 * time.Minute
	nodes := e.choose()
	e.apply(e.broadcastManifest("long", "3600", "type: Always", sprintf("type: Always, activeDeadlineSeconds: %d", int(limit.Seconds()))))
	e.apply(e.broadcastManifest("done", "1", "type: Always", sprintf("type: Always, ttlSecondsAfterFinished: %d", int(limit.Seconds()))))
	e.apply(replaced(cronOf("later", "1", ""), "@every 6s", sprintf("%d * * * *", time.Now().Add(limit).Minute())))
	e.broadcast("long", "runs", func(c *require.Assertions, job *v1beta1.BroadcastJob) { c.EqualValues(len(nodes), job.Status.Active) })
	e.broadcast("done", "completed", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
		c.Equal(v1beta1.BroadcastJobCompleted, job.Status.Phase)
	})
}

// pending creates Pods that cannot be scheduled, and that a WorkloadSpread moves to another subset after nearly five minutes. It returns
// their UIDs.
func (e *env) pending() (waiting map[string]types.UID) {
	e.t.Helper()
	e.apply(spreadOver("apps.kruise.io/v1beta1", "CloneSet", `
  - name: nowhere
    maxReplicas: 3
    requiredNodeSelectorTerm: {matchExpressions: [{key: "no", operator: In, values: [such-node]}]}
  - name: anywhere
  scheduleStrategy: {type: Adaptive, adaptive: {rescheduleCriticalSeconds: 290}}`))
	e.apply(spreadable("apps.kruise.io/v1beta1", "CloneSet", "3"))
	e.eventually("Pods wait for a node", func(c *require.Assertions, _ context.Context) {
		for _, pod := range e.pods("web") {
			c.NotEmpty(pod.Status.Conditions)
			c.Empty(pod.Spec.NodeName)
		}
		waiting = e.uids()
		c.Len(waiting, 3)
	})
	return waiting
}
