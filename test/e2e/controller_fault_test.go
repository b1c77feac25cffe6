//go:build e2e && fault

package e2e

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/nodefit"
)

// killControllers ends the Pods of the controllers without a grace period. It returns a time at which new ones run.
func (e *env) killControllers() (back time.Time) {
	e.t.Helper()
	e.kill("control-plane=controller-manager")
	return time.Now()
}

// TestBroadcastJobsOutliveTheirController kills the controllers while a deadline and a TTL run. Both end at the time that was set
// before.
// Cases broadcastjob 10, 11.
func TestBroadcastJobsOutliveTheirController(t *testing.T) {
	e := newEnv(t)
	nodes := e.choose()
	const limit = 40 * time.Second
	e.apply(e.broadcastManifest("done", "1", "type: Always", sprintf("type: Always, ttlSecondsAfterFinished: %d", int(limit.Seconds()))))
	e.apply(e.broadcastManifest("long", "600", "type: Always", sprintf("type: Always, activeDeadlineSeconds: %d", int(limit.Seconds()))))
	var ended, began time.Time
	e.broadcast("done", "completed", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
		c.Equal(v1beta1.BroadcastJobCompleted, job.Status.Phase)
		ended = job.Status.CompletionTime.Time
	})
	e.broadcast("long", "runs", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
		c.EqualValues(len(nodes), job.Status.Active)
		began = job.Status.StartTime.Time
	})
	back := e.killControllers()
	t.Logf("the controllers were killed %s before the deadline", began.Add(limit).Sub(back).Round(time.Second))
	e.eventually("the completed job is deleted", func(c *require.Assertions, ctx context.Context) {
		_, err := e.broadcastJob(ctx, "done")
		c.True(apierrors.IsNotFound(err), "%v", err)
	})
	gone := time.Now()
	assert.GreaterOrEqual(t, gone.Sub(ended), limit)
	assert.Less(t, gone.Sub(back), limit, "the time before the restart counts")
	e.eventually("its Pods are deleted", func(c *require.Assertions, _ context.Context) { c.Empty(e.pods("done")) })
	e.broadcast("long", "failed", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
		c.Equal(v1beta1.BroadcastJobFailed, job.Status.Phase)
		c.Zero(job.Status.Active)
		c.Empty(e.pods("long"), "the Pods are deleted")
	})
	e.said("DeadlineExceeded", "long was active longer than specified deadline")
	job, err := e.broadcastJob(t.Context(), "long")
	require.NoError(t, err)
	assert.True(t, job.Status.StartTime.Time.Equal(began))
	assert.GreaterOrEqual(t, job.Status.CompletionTime.Sub(began), limit)
	assert.Less(t, job.Status.CompletionTime.Sub(back), limit, "the time before the restart counts")
}

// TestDaemonSetsOutliveTheirController kills the controllers while the Pods of a DaemonSet are created, and while they are replaced. No
// node has two Pods at any time.
// Case daemonset 19.
func TestDaemonSetsOutliveTheirController(t *testing.T) {
	e := newEnv(t)
	nodes := e.choose()
	watched := e.observe([]stress{{name: "ds", replicas: len(nodes), maxUnavailable: len(nodes)}})
	history := e.watchPods()
	old := map[string]corev1.Pod{}
	for _, change := range []func(){
		func() { e.apply(e.daemonManifest("ds")) },
		func() { e.kubectl("delete", "pods", "--selector=app=ds", "--wait=false") },
		func() { e.apply(e.daemonManifest("ds", "demo:v1", "demo:v2")) },
	} {
		change()
		e.eventually("a new Pod", func(c *require.Assertions, _ context.Context) {
			fresh := 0
			for uid := range byUID(e.pods("ds")) {
				if _, found := old[uid]; !found {
					fresh++
				}
			}
			c.NotZero(fresh)
		})
		e.killControllers()
		e.daemonReady("ds", int32(len(nodes)))
		assert.Equal(t, nodes, nodesOf(e.pods("ds")), "one Pod on each node")
		old = byUID(e.pods("ds"))
	}
	watched.report(t)
	on := map[types.UID]string{}
	for _, seen := range history() {
		delete(on, seen.UID)
		if seen.DeletionTimestamp == nil {
			node := nodefit.NodeOf(&seen.Pod)
			require.NotContains(t, slices.Collect(maps.Values(on)), node, seen.Name)
			on[seen.UID] = node
		}
	}
}

// TestEphemeralJobsOutliveTheirController kills the controllers while the containers of a job run in one Pod after the other. Each Pod
// gets the container once, and no two Pods are in progress at the same time.
// Case ephemeraljob 17.
func TestEphemeralJobsOutliveTheirController(t *testing.T) {
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	history := e.watchPods()
	e.debug("debug", "web", `args: [sleep, "15"]`, "") // Longer than until other controllers take over.
	for done := range 2 {
		e.eventually("the container of the next Pod runs", func(c *require.Assertions, _ context.Context) {
			ended, running := 0, 0
			for _, pod := range e.pods("web") {
				switch state := stateOf(&pod, "debug"); {
				case state == nil:
				case state.Terminated != nil:
					ended++
				case state.Running != nil:
					running++
				}
			}
			c.GreaterOrEqual(ended, done)
			c.True(running == 1 || ended == 3, "%d run, %d ended", running, ended)
		})
		e.killControllers()
	}
	job := e.debugs("debug", v1alpha1.EphemeralJobSucceeded, 3, 0, 0, 3, 0)
	for _, pod := range e.pods("web") {
		require.Len(t, pod.Spec.EphemeralContainers, 1, pod.Name)
		assert.Contains(t, pod.Spec.EphemeralContainers[0].Env, corev1.EnvVar{Name: pub.EphemeralJobIDEnv, Value: string(job.UID)})
		assert.Zero(t, pod.Status.EphemeralContainerStatuses[0].RestartCount, pod.Name)
	}
	inProgress := map[string]bool{}
	for _, seen := range history() {
		state := stateOf(&seen.Pod, "debug")
		inProgress[seen.Name] = len(seen.Spec.EphemeralContainers) > 0 && (state == nil || state.Terminated == nil)
		count := 0
		for _, busy := range inProgress {
			if busy {
				count++
			}
		}
		require.LessOrEqual(t, count, 1, "Pods in progress at %s", seen.ResourceVersion)
	}
}
