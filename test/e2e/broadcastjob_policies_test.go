//go:build e2e

package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Parts of the manifest of a BroadcastJob that tests replace.
const (
	withoutLimit = "  parallelism: 100%\n"
	runsSeconds  = `env: [{name: RUN_SECONDS, value: "DURATION"}]`
	// The Pods also run on a node that another test cordons.
	selectsNodes = "      nodeSelector:"
	evenCordoned = "      tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]\n" + selectsNodes
)

// broadcast waits until a job passes the check.
func (e *env) broadcast(name, what string, check func(c *require.Assertions, job *v1beta1.BroadcastJob)) {
	e.t.Helper()
	e.eventually(name+": "+what, func(c *require.Assertions, ctx context.Context) {
		job, err := e.broadcastJob(ctx, name)
		c.NoError(err)
		check(c, job)
	})
}

// mostActive returns the largest number of Pods of an app that had not ended at the same time.
func mostActive(history []seenPod, app string) (most int) {
	active := map[string]bool{}
	for _, seen := range history {
		if seen.Labels["app"] != app {
			continue
		}
		if seen.Status.Phase == corev1.PodSucceeded || seen.Status.Phase == corev1.PodFailed {
			delete(active, seen.Name)
		} else {
			active[seen.Name] = true
		}
		most = max(most, len(active))
	}
	return most
}

// The parallelism limits how many Pods have not ended. With Continue, failed Pods stop no other. A Pod that a quota refuses is created once
// the quota allows it.
// Cases broadcastjob 4, 5, 7, 18.
func TestBroadcastJobLimitsItsPods(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	history := e.watchPods()
	e.apply(e.broadcastManifest("one", "1", selectsNodes, evenCordoned, withoutLimit, "  parallelism: 1\n  failurePolicy: {type: Continue}\n", runsSeconds, fails))
	e.apply(e.broadcastManifest("half", "2", selectsNodes, evenCordoned, withoutLimit, "  parallelism: 50%\n"))
	e.broadcast("one", "completed", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
		c.Equal(v1beta1.BroadcastJobCompleted, job.Status.Phase)
		c.Equal([]int32{3, 0, 3}, []int32{job.Status.Desired, job.Status.Succeeded, job.Status.Failed})
	})
	e.broadcast("half", "completed", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
		c.Equal(v1beta1.BroadcastJobCompleted, job.Status.Phase)
		c.Equal([]int32{3, 3, 0}, []int32{job.Status.Desired, job.Status.Succeeded, job.Status.Failed})
	})
	seen := history()
	assert.Equal(t, 1, mostActive(seen, "one"))
	assert.Equal(t, 2, mostActive(seen, "half"))

	e.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: pods}\nspec: {hard: {pods: \"2\"}}\n")
	e.eventually("the quota counts", func(c *require.Assertions, _ context.Context) {
		c.Equal("0", e.kubectl("get", "resourcequota", "pods", "--output=jsonpath={.status.used.pods}"))
	})
	e.apply(e.broadcastManifest("quota", "5", selectsNodes, evenCordoned))
	e.said("FailedCreate", "exceeded quota")
	e.broadcast("quota", "completed", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
		c.Equal(v1beta1.BroadcastJobCompleted, job.Status.Phase)
		c.EqualValues(3, job.Status.Succeeded)
	})
	assert.Equal(t, nodes, nodesOf(e.pods("quota")), "one Pod on each node")
}

// A job that a user pauses creates no Pod. With Pause, each failed Pod pauses the job until the user resumes it.
// Cases broadcastjob 8, 17.
func TestBroadcastJobPausesForFailures(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	e.apply(e.broadcastManifest("job", "1", selectsNodes, evenCordoned, withoutLimit,
		"  parallelism: 1\n  paused: true\n  failurePolicy: {type: Pause}\n", runsSeconds, fails))
	e.broadcast("job", "paused", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
		c.Equal(v1beta1.BroadcastJobPaused, job.Status.Phase)
		c.EqualValues(len(nodes), job.Status.Desired)
	})
	assert.Empty(t, e.pods("job"))
	for failed := range nodes {
		e.kubectl("patch", "broadcastjob", "job", "--type=merge", "-p", `{"spec":{"paused":false}}`)
		e.broadcast("job", "paused again", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
			c.EqualValues(failed+1, job.Status.Failed)
			c.True(job.Spec.Paused)
			c.Equal(v1beta1.BroadcastJobPaused, job.Status.Phase)
		})
		assert.Len(t, e.pods("job"), failed+1)
	}
	e.kubectl("patch", "broadcastjob", "job", "--type=merge", "-p", `{"spec":{"paused":false}}`)
	e.broadcast("job", "completed", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
		c.Equal(v1beta1.BroadcastJobCompleted, job.Status.Phase)
		c.EqualValues(len(nodes), job.Status.Failed)
	})
	e.said("Continue", "continue to process job")
}

// A Pod whose containers restart too often fails its job. So does the deadline, and the containers that run are ended.
// Cases broadcastjob 9, 11.
func TestBroadcastJobEndsAtItsLimits(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.choose()
	history := e.watchPods()
	e.apply(e.broadcastManifest("restarts", "1", withoutLimit, "  failurePolicy: {type: FailFast, restartLimit: 1}\n", selectsNodes, evenCordoned,
		"restartPolicy: Never", "restartPolicy: OnFailure", runsSeconds, fails))
	e.apply(e.broadcastManifest("deadline", "600", selectsNodes, evenCordoned, "type: Always", "type: Always, activeDeadlineSeconds: 5"))
	for _, name := range []string{"restarts", "deadline"} {
		e.broadcast(name, "failed", func(c *require.Assertions, job *v1beta1.BroadcastJob) {
			c.Equal(v1beta1.BroadcastJobFailed, job.Status.Phase)
			c.Zero(job.Status.Active)
			c.NotNil(job.Status.CompletionTime)
			c.Empty(e.pods(name), "the Pods are deleted")
		})
	}
	job, err := e.broadcastJob(t.Context(), "deadline")
	require.NoError(t, err)
	took := job.Status.CompletionTime.Sub(job.Status.StartTime.Time)
	t.Logf("the job ended after %s", took)
	assert.GreaterOrEqual(t, took, 5*time.Second)
	e.said("DeadlineExceeded", "was active longer than specified deadline")
	restarts := int32(0)
	for _, seen := range history() {
		if status := statusOf(&seen.Pod, "main"); status != nil && seen.Labels["app"] == "restarts" {
			restarts = max(restarts, status.RestartCount)
		}
	}
	assert.GreaterOrEqual(t, restarts, int32(2), "more than the limit")
}

// nodeWithoutKubelet creates a node on which Pods can be bound, but nothing runs them. It is deleted when the test ends. The label of
// simulated nodes keeps it out of other tests.
func (e *env) nodeWithoutKubelet() string {
	e.t.Helper()
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}
	nodes := e.core.CoreV1().Nodes()
	_, err := nodes.Create(e.t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace, Labels: map[string]string{"type": "kwok", "e2e": e.namespace, e.nodeLabel(): "chosen"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: e.nodeLabel(), Effect: corev1.TaintEffectNoSchedule}}},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}, metav1.CreateOptions{})
	require.NoError(e.t, err)
	e.t.Cleanup(func() { _ = nodes.Delete(context.WithoutCancel(e.t.Context()), e.namespace, metav1.DeleteOptions{}) })
	return e.namespace
}

// A node whose taint the Pods tolerate counts, although no kubelet runs there. Its Pod takes a place of the parallelism until another
// client says that the Pod has succeeded.
// Case broadcastjob 19.
func TestBroadcastJobCountsANodeWithoutAKubelet(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	idle, nodes := e.nodeWithoutKubelet(), e.choose()
	all := slices.Sorted(slices.Values(append(nodes, idle)))
	e.apply(e.broadcastManifest("job", "1", withoutLimit, sprintf("  parallelism: %d\n", len(nodes)),
		selectsNodes, "      tolerations: [{operator: Exists}]\n"+selectsNodes))
	counts := func(phase v1beta1.BroadcastJobPhase, active, succeeded int) {
		t.Helper()
		e.broadcast("job", string(phase), func(c *require.Assertions, job *v1beta1.BroadcastJob) {
			c.Equal(phase, job.Status.Phase)
			c.Equal([]int{len(all), active, succeeded}, []int{int(job.Status.Desired), int(job.Status.Active), int(job.Status.Succeeded)})
		})
	}
	counts(v1beta1.BroadcastJobRunning, 1, len(nodes))
	e.eventually("the Pod is bound to the node", func(c *require.Assertions, ctx context.Context) {
		list, err := e.core.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + idle})
		c.NoError(err)
		c.Len(list.Items, 1)
		_, err = e.core.CoreV1().Pods(e.namespace).Patch(ctx, list.Items[0].Name, types.MergePatchType,
			[]byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
		c.NoError(err)
	})
	counts(v1beta1.BroadcastJobCompleted, 0, len(all))
	assert.Equal(t, all, nodesOf(e.pods("job")), "one Pod on each node")
}
