//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

// debug applies an EphemeralJob with one container of the same name, for Pods of an app. command is a part of the container's
// manifest.
func (e *env) debug(name, app, command, spec string) {
	e.t.Helper()
	e.apply(strings.NewReplacer("NAME", name, "APP", app, "COMMAND", command).Replace(`apiVersion: apps.kruise.io/v1alpha1
kind: EphemeralJob
metadata:
  name: NAME
spec:
  selector: {matchLabels: {app: APP}}
  template:
    ephemeralContainers:
    - name: NAME
      image: kruise.local/demo:v1
      COMMAND
` + spec))
}

// debugged waits until the job has a phase.
func (e *env) debugged(name string, phase v1alpha1.EphemeralJobPhase) (job *v1alpha1.EphemeralJob) {
	e.t.Helper()
	e.eventually("EphemeralJob "+name+" is "+string(phase), func(c *require.Assertions, ctx context.Context) {
		var err error
		job, err = e.kruise.AppsV1alpha1().EphemeralJobs(e.namespace).Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		c.Equal(phase, job.Status.Phase, "%+v", job.Status)
	})
	return job
}

// stateOf returns the state of an ephemeral container, or nil if the Pod does not have it.
func stateOf(pod *corev1.Pod, container string) *corev1.ContainerState {
	for i := range pod.Status.EphemeralContainerStatuses {
		if status := &pod.Status.EphemeralContainerStatuses[i]; status.Name == container {
			return &status.State
		}
	}
	return nil
}

// With parallelism 1, the container of one Pod ends before that of the next Pod starts. No other container restarts.
// Cases ephemeraljob 1, 2, 3, 21.
func TestEphemeralContainersRunInOnePodAfterTheOther(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	e.debug("debug", "web", `args: [sleep, "2"]`, "  replicas: 2\n")
	job := e.debugged("debug", v1alpha1.EphemeralJobSucceeded)
	assert.Equal(t, []int32{2, 2, 0}, []int32{job.Status.Match, job.Status.Succeeded, job.Status.Failed})
	var ended []*corev1.ContainerStateTerminated
	for _, pod := range e.pods("web") {
		if state := stateOf(&pod, "debug"); state != nil {
			require.NotNil(t, state.Terminated)
			ended = append(ended, state.Terminated)
		}
		assert.Zero(t, pod.Status.ContainerStatuses[0].RestartCount)
	}
	require.Len(t, ended, 2)
	if ended[1].StartedAt.Before(&ended[0].StartedAt) {
		ended[0], ended[1] = ended[1], ended[0]
	}
	assert.False(t, ended[1].StartedAt.Before(&ended[0].FinishedAt), "%v started before %v", ended[1].StartedAt, ended[0].FinishedAt)
	assert.Regexp(t, `(?m)^debug +Succeeded +2 +2 +0 +0 +0 `, e.kubectl("get", "ejob"))
}

// Cases ephemeraljob 4, 22.
func TestEphemeralContainersThatFailFailTheirJob(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	e.debug("exits", "web", `args: [sleep, never]`, "  parallelism: 3\n")
	e.debug("missing", "web", `command: [/no-such-file]`, "  parallelism: 3\n")
	for _, name := range []string{"exits", "missing"} {
		job := e.debugged(name, v1alpha1.EphemeralJobFailed)
		assert.Equal(t, []int32{3, 0, 3}, []int32{job.Status.Match, job.Status.Succeeded, job.Status.Failed}, name)
	}
}

// Two jobs add containers to one Pod at the same time. The containers continue to run after the deadline, after the job is deleted, and
// during an update in place of the main container.
// Cases ephemeraljob 8, 10, 12, 18, 23, 24, 25.
func TestEphemeralContainersOutliveTheirJobsAndUpdatesInPlace(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "replicas: 3", "replicas: 1"))
	e.ready("web", 1)
	began := time.Now()
	e.debug("short", "web", `args: [sleep, "36000"]`, "  activeDeadlineSeconds: 20\n  ttlSecondsAfterFinished: 5\n")
	e.debug("long", "web", `args: [sleep, "36000"]`, "")
	var before corev1.Pod
	e.eventually("both containers run", func(c *require.Assertions, _ context.Context) {
		before = e.pods("web")[0]
		for _, name := range []string{"short", "long"} {
			state := stateOf(&before, name)
			c.NotNil(state, name)
			c.NotNil(state.Running, name)
		}
	})
	e.eventually("the job with a deadline and a TTL is deleted", func(c *require.Assertions, ctx context.Context) {
		_, err := e.kruise.AppsV1alpha1().EphemeralJobs(e.namespace).Get(ctx, "short", metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err), "%v", err)
	})
	t.Logf("the job was deleted after %s", time.Since(began).Round(time.Second))

	e.image("web", "kruise.local/demo:v2")
	e.ready("web", 1)
	pod := e.pods("web")[0]
	assert.Equal(t, before.UID, pod.UID)
	for _, name := range []string{"short", "long"} {
		state := stateOf(&pod, name)
		require.NotNil(t, state, name)
		require.NotNil(t, state.Running, "%s: %+v", name, state)
		assert.Equal(t, stateOf(&before, name).Running.StartedAt, state.Running.StartedAt, name)
	}
	assert.Equal(t, int32(1), e.debugged("long", v1alpha1.EphemeralJobRunning).Status.Running)
	require.NoError(t, e.kruise.AppsV1alpha1().EphemeralJobs(e.namespace).Delete(t.Context(), "long", metav1.DeleteOptions{}))
	_, err := e.kruise.AppsV1alpha1().EphemeralJobs(e.namespace).Get(t.Context(), "long", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "it is gone at once: %v", err)
	pod = e.pods("web")[0]
	assert.NotNil(t, stateOf(&pod, "long").Running)
}
