//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

const (
	// endsItself exits after three seconds with 0, and fails with 1. staysUp exits with 0 when it is told to.
	// ignoresSignals never ends by itself, and is killed after the grace period.
	endsItself     = `args: [sleep, "3"]`
	fails          = `args: [sleep, never]`
	ignoresSignals = `args: [sleep, "10000"]`
	staysUp        = `args: []`
)

// sidecarOf returns a container that is a sidecar of a job. Each needs its own port.
func sidecarOf(name string, port int, command string, more ...string) string {
	return fmt.Sprintf(`
      - name: %s
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        %s
        env:
        - {name: ADDRESS, value: ":%d"}
        - {name: KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT, value: "true"}%s`, name, command, port, strings.Join(more, ""))
}

const ignoredExitCode = `
        - {name: KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE, value: "true"}`

// podOfJob returns the spec of a Pod with the container main and sidecars. The grace period is long enough for sidecars that handle the
// signal on a busy node, and short if a sidecar ignores signals.
func podOfJob(policy, main string, sidecars ...string) string {
	grace := 30
	if slices.ContainsFunc(sidecars, func(sidecar string) bool { return strings.Contains(sidecar, ignoresSignals) }) {
		grace = 2
	}
	return fmt.Sprintf(`
      restartPolicy: %s
      terminationGracePeriodSeconds: %d
      containers:
      - name: main
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        %s%s`, policy, grace, main, strings.Join(sidecars, ""))
}

func jobOf(name, spec, pod string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  %s
  template:
    metadata:
      labels: {app: %s}
    spec: %s
---
`, name, spec, name, pod)
}

func (e *env) job(ctx context.Context, name string) (*batchv1.Job, error) {
	return e.core.BatchV1().Jobs(e.namespace).Get(ctx, name, metav1.GetOptions{})
}

// jobEnds waits until a Job has the condition.
func (e *env) jobEnds(name string, condition batchv1.JobConditionType) {
	e.t.Helper()
	e.eventually(name+" ends", func(c *require.Assertions, ctx context.Context) {
		job, err := e.job(ctx, name)
		c.NoError(err)
		var conditions []batchv1.JobConditionType
		for _, one := range job.Status.Conditions {
			if one.Status == corev1.ConditionTrue {
				conditions = append(conditions, one.Type)
			}
		}
		c.Contains(conditions, condition)
	})
}

// endOf returns how a container of a Pod ended.
func endOf(t *testing.T, pod *corev1.Pod, container string) *corev1.ContainerStateTerminated {
	t.Helper()
	state := containerStatus(t, pod, container).State
	require.NotNil(t, state.Terminated, "%s: %v", container, state)
	return state.Terminated
}

func (e *env) requests() []v1beta1.ContainerRecreateRequest {
	e.t.Helper()
	list, err := e.kruise.AppsV1beta1().ContainerRecreateRequests(e.namespace).List(e.t.Context(), metav1.ListOptions{})
	require.NoError(e.t, err)
	return list.Items
}

// Cases jobsidecarterminator 1, 7, 24, 29.
func TestSidecarsEndSoonAfterTheMainContainersOfManyJobs(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const jobs = 20
	var manifests strings.Builder
	for i := range jobs {
		manifests.WriteString(jobOf(fmt.Sprintf("job%d", i), "backoffLimit: 0",
			podOfJob("Never", endsItself, sidecarOf("one", 8081, staysUp), sidecarOf("two", 8082, staysUp))))
	}
	e.apply(manifests.String())
	var longest, sum time.Duration
	for i := range jobs {
		name := fmt.Sprintf("job%d", i)
		e.jobEnds(name, batchv1.JobComplete)
		pods := e.pods(name)
		require.Len(t, pods, 1)
		assert.Equal(t, corev1.PodSucceeded, pods[0].Status.Phase)
		main := endOf(t, &pods[0], "main").FinishedAt
		for _, sidecar := range []string{"one", "two"} {
			end := endOf(t, &pods[0], sidecar)
			assert.Zero(t, end.ExitCode)
			longest = max(longest, end.FinishedAt.Sub(main.Time))
			sum += end.FinishedAt.Sub(main.Time)
		}
		for _, pod := range pods {
			for _, finalizer := range pod.Finalizers {
				assert.NotContains(t, finalizer, "kruise.io")
			}
		}
	}
	t.Logf("sidecars ended after %v on average, and at most %v", sum/(2*jobs), longest)
	e.eventually("an event tells of each Pod", func(c *require.Assertions, _ context.Context) {
		c.Equal(20, strings.Count(e.kubectl("get", "events"), "trying to terminate sidecar [one two] using crr"))
	})
	e.eventually("no request is left", func(c *require.Assertions, _ context.Context) { c.Empty(e.requests()) })
	maps, err := e.core.CoreV1().ConfigMaps(e.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, maps.Items, 1, "the one that every namespace has")
}

// TestExitCodesOfSidecarsCountUnlessTheyAreIgnored looks at every version of the Pods: until its sidecar has stopped, the kubelet may
// write the phase Running again, which no Job looks at any more.
// Cases jobsidecarterminator 13, 14, 15, 27.
func TestExitCodesOfSidecarsCountUnlessTheyAreIgnored(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	history := e.watchPods()
	e.apply(jobOf("counted", "backoffLimit: 0", podOfJob("Never", endsItself, sidecarOf("side", 8081, ignoresSignals))) +
		jobOf("ignored", "backoffLimit: 0", podOfJob("Never", endsItself, sidecarOf("side", 8081, ignoresSignals, ignoredExitCode))) +
		jobOf("failed", "backoffLimit: 0", podOfJob("Never", fails, sidecarOf("side", 8081, staysUp, ignoredExitCode))))
	type end struct {
		phase      corev1.PodPhase
		terminated bool
	}
	wanted := map[string]end{"counted": {corev1.PodFailed, false}, "ignored": {corev1.PodSucceeded, true}, "failed": {corev1.PodFailed, true}}
	for name, condition := range map[string]batchv1.JobConditionType{
		"counted": batchv1.JobFailed, "ignored": batchv1.JobComplete, "failed": batchv1.JobFailed,
	} {
		e.jobEnds(name, condition)
		require.Len(t, e.pods(name), 1)
	}
	e.eventually("the sidecar is stopped too", func(c *require.Assertions, _ context.Context) {
		c.NotNil(containerStatus(t, &e.pods("ignored")[0], "side").State.Terminated)
	})
	ends := map[string]end{} // the first that each Job sees
	for _, seen := range history() {
		name, phase := seen.Labels["app"], seen.Status.Phase
		if _, ok := ends[name]; !ok && (phase == corev1.PodSucceeded || phase == corev1.PodFailed) {
			terminated := slices.ContainsFunc(seen.Status.Conditions, func(condition corev1.PodCondition) bool {
				return condition.Type == "SidecarTerminated" && condition.Status == corev1.ConditionTrue
			})
			ends[name] = end{phase, terminated}
		}
	}
	assert.Equal(t, wanted, ends)
}

// Cases jobsidecarterminator 4, 26.
func TestSidecarsWaitForMainContainersThatRestart(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(jobOf("job", "backoffLimit: 1", podOfJob("OnFailure", fails, sidecarOf("side", 8081, staysUp))))
	e.jobEnds("job", batchv1.JobFailed)
	assert.Empty(t, e.requests())
	assert.NotContains(t, e.kubectl("get", "events"), "SidecarTerminator")
}

// Case jobsidecarterminator 20.
func TestHooksOfSidecarsRunBeforeTheyEnd(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	side := sidecarOf("side", 8081, `lifecycle: {preStop: {exec: {command: [/demo, sleep, "5"]}}}`)
	e.apply(jobOf("job", "backoffLimit: 0", podOfJob("Never", endsItself, side)))
	e.jobEnds("job", batchv1.JobComplete)
	ended := e.pods("job")[0]
	took := endOf(t, &ended, "side").FinishedAt.Sub(endOf(t, &ended, "main").FinishedAt.Time)
	assert.GreaterOrEqual(t, took, 5*time.Second)
	t.Logf("the sidecar ended %v after the main container", took)
}

// Case jobsidecarterminator 28.
func TestNativeSidecarsAreLeftToTheKubelet(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	native := strings.Replace(sidecarOf("side", 8081, staysUp), "image:", "restartPolicy: Always\n        image:", 1)
	e.apply(jobOf("job", "backoffLimit: 0", podOfJob("Never", endsItself)+"\n      initContainers:"+native))
	e.jobEnds("job", batchv1.JobComplete)
	assert.Empty(t, e.requests())
	assert.Equal(t, corev1.PodSucceeded, e.pods("job")[0].Status.Phase)
}

// Case jobsidecarterminator 25.
func TestSidecarsOfBroadcastJobsEnd(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	for _, policy := range []string{"Never", "OnFailure"} {
		e.apply(fmt.Sprintf(`apiVersion: apps.kruise.io/v1beta1
kind: BroadcastJob
metadata: {name: %s}
spec:
  completionPolicy: {type: Always}
  parallelism: 100%%
  template:
    metadata:
      labels: {app: %s}
    spec: %s
%s {%s: chosen}
`, strings.ToLower(policy), strings.ToLower(policy), podOfJob(policy, endsItself, sidecarOf("side", 8081, staysUp)), evenCordoned, e.nodeLabel()))
	}
	for _, name := range []string{"never", "onfailure"} {
		e.eventually(name+" is complete", func(c *require.Assertions, ctx context.Context) {
			job, err := e.broadcastJob(ctx, name)
			c.NoError(err)
			c.Equal(v1beta1.BroadcastJobCompleted, job.Status.Phase)
			c.EqualValues(len(nodes), job.Status.Succeeded)
		})
	}
}
