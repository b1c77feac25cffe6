//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// broadcastManifest returns a BroadcastJob on the nodes that the test has chosen. replacements are old, new pairs of text.
func (e *env) broadcastManifest(name, seconds string, replacements ...string) string {
	text := `apiVersion: apps.kruise.io/v1beta1
kind: BroadcastJob
metadata:
  name: NAME
spec:
  parallelism: 100%
  completionPolicy: {type: Always}
  template:
    metadata:
      labels: {app: NAME}
    spec:
      nodeSelector: {NODES: chosen}
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        env: [{name: RUN_SECONDS, value: "DURATION"}]
`
	return strings.NewReplacer(append(replacements, "NAME", name, "NODES", e.nodeLabel(), "DURATION", seconds)...).Replace(text)
}

func (e *env) broadcastJob(ctx context.Context, name string) (*v1beta1.BroadcastJob, error) {
	return e.kruise.AppsV1beta1().BroadcastJobs(e.namespace).Get(ctx, name, metav1.GetOptions{})
}

// TestBroadcastJobRunsOncePerNode checks that each node runs one Pod to its end, and that the job is deleted after its TTL.
// Cases broadcastjob 1, 10.
func TestBroadcastJobRunsOncePerNode(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	e.cordons(nodes[0]) // No other test cordons a node meanwhile.
	e.apply(e.broadcastManifest("job", "1", "type: Always", "type: Always, ttlSecondsAfterFinished: 20"))
	e.eventually("the job is complete", func(c *require.Assertions, ctx context.Context) {
		job, err := e.broadcastJob(ctx, "job")
		c.NoError(err)
		c.Equal(v1beta1.BroadcastJobCompleted, job.Status.Phase)
		c.EqualValues(len(nodes), job.Status.Desired)
		c.EqualValues(len(nodes), job.Status.Succeeded)
	})
	assert.Equal(t, nodes, nodesOf(e.pods("job")))
	e.said("JobComplete", "job")
	e.eventually("the job and its Pods are deleted", func(c *require.Assertions, ctx context.Context) {
		_, err := e.broadcastJob(ctx, "job")
		c.True(apierrors.IsNotFound(err))
		c.Empty(e.pods("job"))
	})
}

// TestBroadcastJobServesNewNodes checks that a standing job runs on nodes that come to match, and not on those that are cordoned.
// Cases broadcastjob 12, 13.
func TestBroadcastJobServesNewNodes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	last := nodes[len(nodes)-1]
	e.cordons(last)
	e.kubectl("cordon", last)
	e.labelNode(t.Context(), nodes[0], e.nodeLabel(), `"other"`)
	e.apply(e.broadcastManifest("job", "1", "type: Always", "type: Never"))
	ran := func(count int) {
		t.Helper()
		e.eventually("the job ran", func(c *require.Assertions, ctx context.Context) {
			job, err := e.broadcastJob(ctx, "job")
			c.NoError(err)
			c.EqualValues(count, job.Status.Succeeded)
			c.EqualValues(count, job.Status.Desired)
			c.Equal(v1beta1.BroadcastJobRunning, job.Status.Phase)
		})
	}
	ran(len(nodes) - 2)
	e.labelNode(t.Context(), nodes[0], e.nodeLabel(), `"chosen"`)
	ran(len(nodes) - 1)
	e.kubectl("uncordon", last)
	ran(len(nodes))
	assert.Equal(t, nodes, nodesOf(e.pods("job")))
}

// TestBroadcastJobFails checks that one failed Pod ends the job and the Pods that run.
// Case broadcastjob 6.
func TestBroadcastJobFails(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	e.cordons(nodes[0])
	e.apply(e.broadcastManifest("job", "600"))
	e.eventually("all Pods run", func(c *require.Assertions, _ context.Context) {
		c.Len(e.pods("job"), len(nodes))
		for _, pod := range e.pods("job") {
			c.Equal(corev1.PodRunning, pod.Status.Phase)
		}
	})
	failed := e.pods("job")[0].Name
	e.eventually("the job sees the failed Pod", func(c *require.Assertions, ctx context.Context) {
		job, err := e.broadcastJob(ctx, "job")
		c.NoError(err)
		if job.Status.Phase != v1beta1.BroadcastJobFailed { // The kubelet may have set the Pod to Running before the controller saw it.
			out, err := e.command(ctx, "patch", "pod", failed, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Failed"}}`).CombinedOutput()
			c.NoError(err, "%s", out)
		}
		c.Equal(v1beta1.BroadcastJobFailed, job.Status.Phase)
	})
	e.eventually("the job failed", func(c *require.Assertions, ctx context.Context) {
		job, err := e.broadcastJob(ctx, "job")
		c.NoError(err)
		c.Equal(v1beta1.BroadcastJobFailed, job.Status.Phase)
		c.EqualValues(len(nodes), job.Status.Failed)
		c.Zero(job.Status.Active)
		for _, pod := range e.pods("job") {
			c.Equal(corev1.PodFailed, pod.Status.Phase, "no Pod goes on") // The kubelet may set the failed one to Running again.
		}
	})
}
