//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
)

const readsLabel = "        env: [{name: LEVEL, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['level']\"}}}]\n        ports:"

// TestEnvFromMetadata changes a label that a container's environment reads. The Pods stay the same, the agent of each node
// restarts the container, and the container has the new value.
// Case inplace-update 5.
func TestEnvFromMetadata(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"InPlaceIfPossible", "InPlaceOnly"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			at := func(level string) string {
				return manifest("web", "type: InPlaceIfPossible", "type: "+policy, "        ports:", readsLabel,
					"        app: NAME\n    spec:", "        app: web\n        level: "+level+"\n    spec:")
			}
			e.apply(at("one"))
			e.ready("web", 3)
			old := byUID(e.pods("web"))
			e.apply(at("two"))
			e.ready("web", 3)
			updated := byUID(e.pods("web"))
			require.Len(t, updated, 3)
			for uid, pod := range updated {
				require.Contains(t, old, uid, "the same Pods")
				assert.Equal(t, "two", pod.Labels["level"])
				assert.EqualValues(t, 1, pod.Status.ContainerStatuses[0].RestartCount, "%s is restarted exactly once", pod.Name)
				report, err := containerreport.Read(&pod)
				require.NoError(t, err)
				variables := containerreport.VariablesOf(&pod.Spec.Containers[0])
				require.Len(t, variables, 1)
				entry := report.Find("main")
				assert.Equal(t, pod.Status.ContainerStatuses[0].ContainerID, entry.ContainerID)
				assert.Equal(t, containerreport.Expected(variables, map[string]string{"level": "two"}, nil), entry.Hashes.ExtractedEnvFromMetadataHash)
			}
			e.said("Killing", "by container meta restarter")

			pod := e.pods("web")[0]
			e.kubectl("label", "pod", pod.Name, "level=three", "--overwrite")
			e.kubectl("patch", "cloneset", "web", "--type=merge", "-p", `{"spec":{"replicas":4}}`)
			e.ready("web", 4)
			again, err := e.core.CoreV1().Pods(e.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
			require.NoError(t, err)
			assert.Equal(t, pod.Status.ContainerStatuses[0].RestartCount, again.Status.ContainerStatuses[0].RestartCount,
				"a label changed by hand restarts nothing that serves")
		})
	}
}

const ordered = `apiVersion: v1
kind: ConfigMap
metadata: {name: barrier}
data: {p_1: "true", p_5: "true"}
---
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  updateStrategy: {type: InPlaceOnly, maxUnavailable: 100%}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: main
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        env:
        - {name: KRUISE_CONTAINER_BARRIER, valueFrom: {configMapKeyRef: {name: barrier, key: p_1}}}
      - name: side
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        readinessProbe: {httpGet: {path: /, port: 8081}, initialDelaySeconds: 2, periodSeconds: 1}
        env:
        - {name: ADDRESS, value: ":8081"}
        - {name: KRUISE_CONTAINER_BARRIER, valueFrom: {configMapKeyRef: {name: barrier, key: p_5}}}
`

// TestOrderedContainers checks that the container with the higher launch priority is updated first, and the other one once the
// first is ready.
// Case inplace-update 9.
func TestOrderedContainers(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(ordered)
	e.ready("web", 2)
	old := byUID(e.pods("web"))
	history := e.watchPods()
	e.apply(replaced(ordered, "demo:v1", "demo:v2"))
	e.eventually("both containers are updated", func(c *require.Assertions, _ context.Context) {
		for _, pod := range e.pods("web") {
			c.Contains(old, string(pod.UID))
			for _, status := range pod.Status.ContainerStatuses {
				c.Equal("kruise.local/demo:v2", status.Image)
			}
		}
	})
	e.ready("web", 2)
	turns := 0
	for _, pod := range history() {
		images := map[string]string{}
		for _, container := range pod.Spec.Containers {
			images[container.Name] = container.Image
		}
		if images["side"] == "kruise.local/demo:v2" && images["main"] == "kruise.local/demo:v1" {
			turns++
		}
		assert.False(t, images["main"] == "kruise.local/demo:v2" && images["side"] == "kruise.local/demo:v1", "side first")
	}
	assert.Positive(t, turns)
	for _, pod := range e.pods("web") {
		assert.Equal(t, [][]string{{"side"}, {"main"}}, batchesOf(t, &pod))
		assert.Equal(t, corev1.PodRunning, pod.Status.Phase)
	}
}

// TestNextContainerWaitsForPostStart has a container with a postStart hook of 10 s in front of another one. Only after the
// hook is the first container ready, and only then does the old instance of the second one end.
// Case inplace-update 11a.
func TestNextContainerWaitsForPostStart(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	slow := replaced(ordered, "replicas: 2", "replicas: 1", "        readinessProbe:",
		"        lifecycle: {postStart: {sleep: {seconds: 4}}}\n        readinessProbe:")
	e.apply(slow)
	e.ready("web", 1)
	old := e.pods("web")[0]
	history := e.watchPods()
	e.apply(replaced(slow, "demo:v1", "demo:v2"))
	e.eventually("both containers are updated", func(c *require.Assertions, _ context.Context) {
		for _, status := range e.pods("web")[0].Status.ContainerStatuses {
			c.Equal("kruise.local/demo:v2", status.Image)
		}
	})
	e.ready("web", 1)
	pod := e.pods("web")[0]
	assert.Equal(t, old.UID, pod.UID)
	started := statusOf(&pod, "side").State.Running.StartedAt
	ended := statusOf(&pod, "main").LastTerminationState.Terminated
	require.NotNil(t, ended, "%+v", statusOf(&pod, "main"))
	assert.GreaterOrEqual(t, ended.FinishedAt.Sub(started.Time), 3*time.Second,
		"the old instance ran until the hook of 4 s was over; times have whole seconds")
	assert.Equal(t, [][]string{{"side"}, {"main"}}, batchesOf(t, &pod))
	for _, seen := range history() {
		main, side := statusOf(&seen.Pod, "main"), statusOf(&seen.Pod, "side")
		if main != nil && side != nil && main.ContainerID != statusOf(&old, "main").ContainerID {
			assert.NotEqual(t, statusOf(&old, "side").ContainerID, side.ContainerID, "side first")
		}
	}
}

// statusOf returns the status of a container, or nil.
func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// batchesOf returns the containers of each batch of the Pod's last update in place.
func batchesOf(t *testing.T, pod *corev1.Pod) (batches [][]string) {
	t.Helper()
	var state struct {
		ContainerBatchesRecord []struct{ Containers []string }
	}
	require.NoError(t, json.Unmarshal([]byte(pod.Annotations[pub.InPlaceUpdateStateKey]), &state))
	for _, batch := range state.ContainerBatchesRecord {
		batches = append(batches, batch.Containers)
	}
	return batches
}

// TestResources changes containers' resources: without a restart if the resize policy allows it, otherwise out of service. The
// test turns the feature gate on, because it is off by default.
// Cases inplace-update 17, 18.
func TestResources(t *testing.T) {
	e := newEnv(t)
	e.since(33, "updates of resources in place without a feature gate")
	restore := e.controllerArgs("--feature-gates=InPlaceWorkloadVerticalScaling=true")
	defer restore()
	at := func(cpu, policy string) string {
		return manifest("web", "cpu: 10m", "cpu: "+cpu, "        resources:", "        resizePolicy: [{resourceName: cpu, restartPolicy: "+policy+"}]\n        resources:")
	}
	for _, policy := range []string{"NotRequired", "RestartContainer"} {
		t.Run(policy, func(t *testing.T) {
			e.apply(at("10m", policy))
			e.ready("web", 3)
			old := byUID(e.pods("web"))
			history := e.watchPods()
			e.apply(at("25m", policy))
			e.ready("web", 3)
			for uid, pod := range byUID(e.pods("web")) {
				require.Contains(t, old, uid, "the same Pods")
				status := pod.Status.ContainerStatuses[0]
				assert.Equal(t, "25m", status.Resources.Requests.Cpu().String())
				assert.Equal(t, policy == "RestartContainer", status.RestartCount == old[uid].Status.ContainerStatuses[0].RestartCount+1)
			}
			held := false
			for _, pod := range history() {
				for _, condition := range pod.Status.Conditions {
					held = held || condition.Type == pub.InPlaceUpdateReadyConditionType && condition.Status == corev1.ConditionFalse
				}
			}
			assert.Equal(t, policy == "RestartContainer", held, "out of service")
			e.kubectl("delete", "cloneset", "web", "--cascade=foreground", "--wait")
		})
	}
}
