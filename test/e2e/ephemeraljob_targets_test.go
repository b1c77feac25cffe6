//go:build e2e

package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

// target runs a Pod for ephemeral containers. Its label seconds is how long a container of the test "mixed" runs.
func (e *env) target(name, seconds string) {
	e.t.Helper()
	e.apply(replaced(`apiVersion: v1
kind: Pod
metadata:
  name: NAME
  labels: {app: web, seconds: "SECONDS"}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "kruise.local/demo:v1", imagePullPolicy: IfNotPresent}
`, "NAME", name, "SECONDS", seconds))
}

// counts returns the Pods of the job that match, wait, run, succeeded and failed.
func counts(job *v1alpha1.EphemeralJob) []int32 {
	return []int32{job.Status.Match, job.Status.Waiting, job.Status.Running, job.Status.Succeeded, job.Status.Failed}
}

// debugs waits until the job has a phase and these counts.
func (e *env) debugs(name string, phase v1alpha1.EphemeralJobPhase, want ...int32) (job *v1alpha1.EphemeralJob) {
	e.t.Helper()
	e.eventually(name+" is "+string(phase), func(c *require.Assertions, _ context.Context) {
		job = e.debugged(name, phase)
		c.Equal(want, counts(job))
	})
	return job
}

// A job waits for Pods, and a paused one for its user. A Pod with a container of the same name is left out. A Pod of two containers
// runs until both have ended. A job whose containers end in different ways has failed. A Pod that is deleted counts no more.
// Cases ephemeraljob 5, 6, 7, 9, 19, 20.
func TestEphemeralJobsCountTheirPods(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	jobs := func(name, patch string) {
		e.kubectl("patch", "ejob", name, "--type=merge", "-p", patch)
	}
	const two = "  parallelism: 2\n"
	e.debug("early", "web", `args: [sleep, "1"]`, two)
	early := e.debugs("early", v1alpha1.EphemeralJobWaiting, 0, 0, 0, 0, 0)
	assert.Contains(t, conditionTypes(early), v1alpha1.EphemeralJobConditionType("MatchedEmpty"))
	e.target("a", "1")
	early = e.debugs("early", v1alpha1.EphemeralJobSucceeded, 1, 0, 0, 1, 0)
	assert.NotContains(t, conditionTypes(early), v1alpha1.EphemeralJobConditionType("MatchedEmpty"))

	e.target("b", "never")
	e.kubectl("wait", "pods", "--all", "--for=condition=Ready", "--timeout=3m")
	e.debug("mixed", "web", `args: [sleep, "$(SECONDS)"]
      env: [{name: SECONDS, valueFrom: {fieldRef: {fieldPath: "metadata.labels['seconds']"}}}]`, two+"  paused: true\n")
	e.debugs("mixed", v1alpha1.EphemeralJobPaused, 2, 0, 0, 0, 0)
	for _, pod := range e.pods("web") {
		assert.Nil(t, stateOf(&pod, "mixed"), "%s: paused", pod.Name)
	}
	jobs("mixed", `{"spec":{"paused":false}}`)
	e.debugs("mixed", v1alpha1.EphemeralJobFailed, 2, 0, 0, 1, 1)

	e.debug("both", "web", `args: [sleep, "1"]`, two)
	e.debugs("both", v1alpha1.EphemeralJobSucceeded, 2, 0, 0, 2, 0)
	e.apply(replaced(ejobOfTwo, "FIRST", "done", "SECOND", "goes-on"))
	e.eventually("the first containers have ended", func(c *require.Assertions, _ context.Context) {
		for _, pod := range e.pods("web") {
			state := stateOf(&pod, "done")
			c.NotNil(state)
			c.NotNil(state.Terminated)
		}
	})
	e.debugs("pair", v1alpha1.EphemeralJobRunning, 2, 0, 2, 0, 0)
	e.kubectl("delete", "pod", "b")
	e.debugs("pair", v1alpha1.EphemeralJobRunning, 1, 0, 1, 0, 0)

	e.apply(replaced(ejobOfTwo, "name: pair", "name: other", "FIRST", "both", "SECOND", "new"))
	e.debugs("other", v1alpha1.EphemeralJobWaiting, 0, 0, 0, 0, 0)
	for _, pod := range e.pods("web") {
		assert.Nil(t, stateOf(&pod, "new"), "the container of the other job stays alone")
		assert.Zero(t, pod.Status.ContainerStatuses[0].RestartCount)
	}
}

// ejobOfTwo is a job with a container that ends soon and one that does not.
const ejobOfTwo = `apiVersion: apps.kruise.io/v1alpha1
kind: EphemeralJob
metadata: {name: pair}
spec:
  selector: {matchLabels: {app: web}}
  parallelism: 2
  template:
    ephemeralContainers:
    - {name: FIRST, image: "kruise.local/demo:v1", args: [sleep, "1"]}
    - {name: SECOND, image: "kruise.local/demo:v1", args: [sleep, "36000"]}
`

func conditionTypes(job *v1alpha1.EphemeralJob) (types []v1alpha1.EphemeralJobConditionType) {
	for i := range job.Status.Conditions {
		if job.Status.Conditions[i].Status == corev1.ConditionTrue {
			types = append(types, job.Status.Conditions[i].Type)
		}
	}
	return types
}
