//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// launched returns the spec of a Pod with the containers main and side. sideSpec is added to side.
func launched(sideEnv, sideSpec string) string {
	return fmt.Sprintf(`
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        env: [{name: ADDRESS, value: ":8081"}]
      - name: side
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        env: [{name: ADDRESS, value: ":8082"}%s]
        %s`, sideEnv, sideSpec)
}

const first = `, {name: KRUISE_CONTAINER_PRIORITY, value: "10"}`

func workloadOf(api, kind, name, annotations, pod string) string {
	return fmt.Sprintf(`apiVersion: %s
kind: %s
metadata: {name: %s}
spec:
  replicas: 1
  selector: {matchLabels: {app: %s}}
  template:
    metadata:
      labels: {app: %s}
      annotations: {%s}
    spec: %s
`, api, kind, name, name, name, annotations, pod)
}

// readyPod waits for the only Pod of an app to be ready.
func (e *env) readyPod(app string) (pod corev1.Pod) {
	e.t.Helper()
	e.eventually("the Pod of "+app+" is ready", func(c *require.Assertions, _ context.Context) {
		pods := e.pods(app)
		c.Len(pods, 1)
		pod = pods[0]
		c.Len(pod.Status.ContainerStatuses, len(pod.Spec.Containers))
		for _, status := range pod.Status.ContainerStatuses {
			c.True(status.Ready, status.Name)
		}
	})
	return pod
}

func startOf(t *testing.T, pod *corev1.Pod, container string) time.Time {
	t.Helper()
	running := containerStatus(t, pod, container).State.Running
	require.NotNil(t, running, container)
	return running.StartedAt.Time
}

// Cases container-launch-priority 12, 14, 17.
func TestContainersStartByTheirPriority(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	slow := `lifecycle: {postStart: {exec: {command: [/demo, sleep, "2"]}}}`
	e.apply(workloadOf("apps/v1", "Deployment", "deployment", "", launched(first, slow)))
	e.apply(workloadOf("apps.kruise.io/v1beta1", "CloneSet", "cloneset", "", launched(first, slow)))
	for _, name := range []string{"deployment", "cloneset"} {
		pod := e.readyPod(name)
		for container, key := range map[string]string{"main": "p_0", "side": "p_10"} {
			for i := range pod.Spec.Containers {
				if env := pod.Spec.Containers[i].Env; pod.Spec.Containers[i].Name == container {
					assert.Equal(t, corev1.EnvVar{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{
						ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: pod.Name + "-barrier"}, Key: key},
					}}, env[len(env)-1])
				}
			}
		}
		waited := startOf(t, &pod, "main").Sub(startOf(t, &pod, "side"))
		t.Logf("%s: main started %v after side", name, waited)
		assert.GreaterOrEqual(t, waited, 2*time.Second, "after the hook")
		assert.Less(t, waited, time.Minute, "the kubelet is woken before it reads the ConfigMap again by itself")
		e.eventually("the Pod says that all containers may start", func(c *require.Assertions, ctx context.Context) {
			now, err := e.core.CoreV1().Pods(e.namespace).Get(ctx, pod.Name, metav1.GetOptions{})
			c.NoError(err)
			c.Equal("true", now.Annotations["apps.kruise.io/container-launch-priority-completed"])
		})
		e.kubectl("delete", "pod", pod.Name)
		e.eventually("the ConfigMap goes with its Pod", func(c *require.Assertions, ctx context.Context) {
			_, err := e.core.CoreV1().ConfigMaps(e.namespace).Get(ctx, pod.Name+"-barrier", metav1.GetOptions{})
			c.True(apierrors.IsNotFound(err), "%v", err)
		})
	}
}

// Cases container-launch-priority 1, 8.
func TestContainersStartInTheOrderOfTheSpec(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const ordered = `apps.kruise.io/container-launch-priority: Ordered`
	e.apply(workloadOf("apps/v1", "Deployment", "ordered", ordered, launched("", "")))
	pod := e.readyPod("ordered")
	assert.False(t, startOf(t, &pod, "side").Before(startOf(t, &pod, "main")))

	unready := strings.Replace(launched("", ""), "- name: side", "  readinessProbe: {exec: {command: [/demo, sleep, never]}}\n      - name: side", 1)
	e.apply(workloadOf("apps/v1", "Deployment", "stuck", ordered, unready))
	e.eventually("the second container waits", func(c *require.Assertions, _ context.Context) {
		pods := e.pods("stuck")
		c.Len(pods, 1)
		c.Len(pods[0].Status.ContainerStatuses, 2)
		waiting := containerStatus(t, &pods[0], "side").State.Waiting
		c.NotNil(waiting)
		c.Equal("CreateContainerConfigError", waiting.Reason)
		c.NotNil(containerStatus(t, &pods[0], "main").State.Running)
	})
	barrier, err := e.core.CoreV1().ConfigMaps(e.namespace).Get(t.Context(), e.pods("stuck")[0].Name+"-barrier", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"p_0": "true"}, barrier.Data)
}

// Cases container-launch-priority 9, 16: Pods of a StatefulSet have the names of their predecessors.
func TestPodOfAStatefulSetStartsInOrderEachTime(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	slow := `lifecycle: {postStart: {exec: {command: [/demo, sleep, "2"]}}}`
	e.apply(workloadOf("apps.kruise.io/v1beta1", "StatefulSet", "web", "", launched(first, slow)))
	before := e.readyPod("web")
	e.kubectl("delete", "pod", before.Name)
	var pod corev1.Pod
	e.eventually("its successor is ready", func(c *require.Assertions, _ context.Context) {
		pod = e.readyPod("web")
		c.NotEqual(before.UID, pod.UID)
	})
	assert.GreaterOrEqual(t, startOf(t, &pod, "main").Sub(startOf(t, &pod, "side")), 2*time.Second)
}

// Cases container-launch-priority 11, 18: an update in place takes the containers in the same order.
func TestUpdateInPlaceFollowsTheLaunchOrder(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	slow := `lifecycle: {postStart: {exec: {command: [/demo, sleep, "5"]}}}`
	manifest := workloadOf("apps.kruise.io/v1alpha1", "CloneSet", "web", "", launched(first, slow)) + "  updateStrategy: {type: InPlaceOnly}\n"
	e.apply(manifest)
	before := e.readyPod("web")
	e.apply(strings.ReplaceAll(manifest, "demo:v1", "demo:v2"))
	var pod corev1.Pod
	e.eventually("both are updated", func(c *require.Assertions, _ context.Context) {
		pod = e.readyPod("web")
		c.Equal(before.UID, pod.UID)
		for _, status := range pod.Status.ContainerStatuses {
			c.EqualValues(1, status.RestartCount, status.Name)
		}
	})
	ended := containerStatus(t, &pod, "main").LastTerminationState.Terminated
	require.NotNil(t, ended)
	assert.GreaterOrEqual(t, ended.FinishedAt.Sub(startOf(t, &pod, "side")), 5*time.Second, "main is stopped when the new side is ready")
}

// Case container-launch-priority 5.
func TestPodWithAWrongPriorityIsRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: " + launched(strings.Replace(first, "10", "high", 1), "")
	assert.Contains(t, e.refused(pod, "create", "-f", "-"), `KRUISE_CONTAINER_PRIORITY of container side is "high"`)
}
