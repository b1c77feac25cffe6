package kubectl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"kruise.io/kruise/pkg/kubectl/kubectltest"
	"kruise.io/kruise/pkg/kubectl/kubectltest/golden"
)

const canary = `apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {name: web}
spec:
  workloadRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web}
  strategy:
    canary:
      steps:
      - {replicas: 1, traffic: 5%, pause: {}}
      - {replicas: 50%, pause: {duration: 60}}
      - {replicas: 100%, matches: [{headers: []}]}
      trafficRoutings: [{service: web, ingress: {name: web}}]
status:
  phase: Progressing
  message: Rollout is in step(1/3)
  canaryStatus: {currentStepIndex: 1, currentStepState: StepPaused, stableRevision: web-a, canaryRevision: web-b}`

// rolling is the CloneSet of family with a Rollout. One of its Pods belongs to a batch.
func rolling(t *testing.T) *kubectltest.Server {
	t.Helper()
	batch := strings.Replace(pod, "labels: {", "labels: {rollouts.kruise.io/rollout-batch-id: '1', ", 1)
	assert.NotEqual(t, pod, batch)
	old := strings.NewReplacer("web-1", "web-2", "web-b", "web-a", `"True"`, `"False"`).Replace(pod)
	return kubectltest.New(t, cloneSet, batch, old, canary)
}

// Case kubectl-plugin 38.
func TestDescribeARollout(t *testing.T) {
	server := rolling(t)
	golden.Compare(t, "describe-rollout.txt", run(t, server, "describe", "rollout", "web", "--no-color"))
	assert.Contains(t, run(t, server, "describe", "ro", "web"), "\x1b[36m॥ Paused\x1b[0m")
	assert.Equal(t, run(t, server, "describe", "rollout", "web"), run(t, server, "describe", "rollouts", "--all"))
	assert.Empty(t, server.Writes())
}

// Case kubectl-plugin 38.
func TestDescribeARolloutNeedsOneName(t *testing.T) {
	server := rolling(t)
	for message, args := range map[string][]string{
		"required rollout name not specified":          {"describe", "rollout"},
		"exclude each other":                           {"describe", "rollout", "web", "--all"},
		"2 rollouts are named":                         {"describe", "rollout", "web", "cart"},
		`rollouts.rollouts.kruise.io "cart" not found`: {"describe", "rollout", "cart"},
	} {
		assert.Contains(t, fails(t, server, args...), message)
	}
}

// Case kubectl-plugin 38.
func TestDescribeARolloutUntilItIsHealthy(t *testing.T) {
	healthy := strings.Replace(canary, "phase: Progressing", "phase: Healthy", 1)
	server := kubectltest.New(t, cloneSet, healthy)
	assert.Contains(t, run(t, server, "describe", "rollout", "web", "--watch", "--no-color"), "✔ Healthy")
	assert.Contains(t, fails(t, rolling(t), "describe", "rollout", "web", "--watch", "--timeout=1"), "timed out waiting for the condition")
}
