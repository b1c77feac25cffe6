//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/hack/localcluster"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// restarted returns a Pod whose containers are restarted. changes are old, new pairs of text.
func restarted(changes ...string) string {
	const text = `apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: p}}
spec:
  terminationGracePeriodSeconds: 30
  readinessGates: [{conditionType: KruisePodReady}]
  initContainers:
  - {name: first, image: "kruise.local/demo:v1", imagePullPolicy: IfNotPresent, args: [sleep, "0"]}
  - {name: native, image: "kruise.local/demo:v1", imagePullPolicy: IfNotPresent, restartPolicy: Always, env: [{name: ADDRESS, value: ":8082"}]}
  containers:
  - name: app
    image: kruise.local/demo:v1
    imagePullPolicy: IfNotPresent
    ports: [{name: web, containerPort: 8080}]
    # APP
  - name: sidecar
    image: kruise.local/demo:v1
    imagePullPolicy: IfNotPresent
    env: [{name: ADDRESS, value: ":8081"}]
`
	return strings.NewReplacer(changes...).Replace(text)
}

// recreate returns a request for containers of the Pod, with further lines of its spec.
func recreate(name, containers string, lines ...string) string {
	text := "apiVersion: apps.kruise.io/v1alpha1\nkind: ContainerRecreateRequest\nmetadata: {name: " + name + "}\nspec:\n" +
		"  podName: p\n  containers: " + containers + "\n"
	for _, line := range lines {
		text += "  " + line + "\n"
	}
	return text
}

const (
	app  = "[{name: app}]"
	both = "[{name: app}, {name: sidecar}]"
)

// runPod applies the Pod, waits until it is ready, and returns it.
func (e *env) runPod(changes ...string) *corev1.Pod {
	e.t.Helper()
	e.apply(restarted(changes...))
	e.kubectl("wait", "pod/p", "--for=condition=Ready", "--timeout=3m")
	return e.pod()
}

func (e *env) pod() *corev1.Pod {
	e.t.Helper()
	pod, err := e.core.CoreV1().Pods(e.namespace).Get(e.t.Context(), "p", metav1.GetOptions{})
	require.NoError(e.t, err)
	return pod
}

func (e *env) recreateRequest(name string) *v1beta1.ContainerRecreateRequest {
	e.t.Helper()
	request, err := e.kruise.AppsV1beta1().ContainerRecreateRequests(e.namespace).Get(e.t.Context(), name, metav1.GetOptions{})
	require.NoError(e.t, err)
	return request
}

// completed waits until a request has ended, and returns it.
func (e *env) completed(name string) (request *v1beta1.ContainerRecreateRequest) {
	e.t.Helper()
	e.eventually("request "+name+" ends", func(c *require.Assertions, ctx context.Context) {
		var err error
		request, err = e.kruise.AppsV1beta1().ContainerRecreateRequests(e.namespace).Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		c.NotNil(request.Status.CompletionTime, "%+v", request.Status)
	})
	return request
}

// succeeded waits until a request has succeeded: every container runs again.
func (e *env) succeeded(name string) *v1beta1.ContainerRecreateRequest {
	e.t.Helper()
	request := e.completed(name)
	assert.Empty(e.t, request.Status.Message)
	require.Len(e.t, request.Status.ContainerRecreateStates, len(request.Spec.Containers))
	for _, state := range request.Status.ContainerRecreateStates {
		assert.Equal(e.t, v1beta1.ContainerRecreateRequestSucceeded, state.Phase, "%+v", state)
	}
	return request
}

// begun waits until the agent has started to work on a request.
func (e *env) begun(name string) {
	e.t.Helper()
	e.eventually("request "+name+" begins", func(c *require.Assertions, _ context.Context) {
		c.NotEmpty(e.recreateRequest(name).Status.ContainerRecreateStates)
	})
}

func containerStatus(t *testing.T, pod *corev1.Pod, name string) *corev1.ContainerStatus {
	t.Helper()
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	require.Fail(t, "no status", name)
	return nil
}

// restartedTimes asserts the restart counts of containers app and sidecar.
func (e *env) restartedTimes(app, sidecar int32) {
	e.t.Helper()
	pod := e.pod()
	assert.Equal(e.t, app, containerStatus(e.t, pod, "app").RestartCount, "app")
	assert.Equal(e.t, sidecar, containerStatus(e.t, pod, "sidecar").RestartCount, "sidecar")
}

// lived returns the time from the creation of the request to the end of the container's previous instance.
func (e *env) lived(request *v1beta1.ContainerRecreateRequest, container string) time.Duration {
	e.t.Helper()
	ended := containerStatus(e.t, e.pod(), container).LastTerminationState.Terminated
	require.NotNil(e.t, ended)
	return ended.FinishedAt.Sub(request.CreationTimestamp.Time)
}

// podEvents returns the reasons and messages of the Pod's events.
func (e *env) podEvents() string {
	return e.kubectl("get", "events", "--field-selector", "involvedObject.name=p", "-o", `jsonpath={range .items[*]}{.reason}: {.message}{"\n"}{end}`)
}

// TestContainerRecreateRequest restarts containers of running Pods as users do.
// Cases containerrecreaterequest 3, 4, 5, 6, 7, 8, 11, 13, 14, 15, 17, 19, 20, 22, 25, 27, 28, 29, 36, 39.
func TestContainerRecreateRequest(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*testing.T, *env){
		"one container":                            restartOne,
		"in order":                                 restartInOrder,
		"a hook by HTTP of 8 s":                    restartAfterRequest,
		"a hook by exec of 8 s":                    restartAfterExec,
		"a hook that fails":                        restartAfterFailedHook,
		"no grace period":                          restartWithoutGrace,
		"a container that ignores the signal":      restartStubborn,
		"out of service first":                     restartDrained,
		"deleted while it waits":                   restartDeletedInDrain,
		"a while after its start":                  restartMinStarted,
		"by force":                                 restartByForce,
		"the deadline":                             restartDeadline,
		"the Pod is deleted":                       restartPodDeleted,
		"old requests go":                          restartOld,
		"two one after the other":                  restartTwo,
		"the first is deleted":                     restartFirstDeleted,
		"the second is deleted":                    restartSecondDeleted,
		"a Pod that restarts nothing":              restartNever,
		"a static Pod":                             restartStatic,
		"mistakes":                                 restartMistakes,
		"both versions":                            restartVersions,
		"sixty requests on six Pods, side by side": func(t *testing.T, e *env) { restartLoad(t, e, 6, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, newEnv(t))
		})
	}
}

func restartOne(t *testing.T, e *env) {
	before := e.runPod()
	e.apply(recreate("r", app))
	request := e.succeeded("r")
	assert.Equal(t, string(before.UID), request.Labels["crr.apps.kruise.io/pod-uid"])
	assert.True(t, request.Status.ContainerRecreateStates[0].IsKilled)
	after := e.pod()
	assert.Equal(t, before.UID, after.UID)
	assert.Equal(t, before.Status.PodIP, after.Status.PodIP)
	e.restartedTimes(1, 0)
	assert.Equal(t, containerStatus(t, after, "app").ContainerID, request.Status.ContainerStatusSnapshot[0].ContainerID)
	e.eventually("the agent no longer sees it", func(c *require.Assertions, _ context.Context) {
		c.NotContains(e.recreateRequest("r").Labels, "crr.apps.kruise.io/active")
	})
	e.said("Killing", "Stopping container app by ContainerRecreateRequest r")
	assert.Regexp(t, `r +Completed +p +`+before.Spec.NodeName, e.kubectl("get", "crr"))
}

// restartStatic restarts a container of a static Pod. The kubelet knows the Pod by another UID than the API.
func restartStatic(t *testing.T, e *env) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, err := localcluster.New(localcluster.MainConfig(root))
	require.NoError(t, err)
	manifest := filepath.Join(cluster.StaticPods(1), e.namespace+".yaml")
	text := restarted("metadata: {name: p,", "metadata: {name: p, namespace: "+e.namespace+",", "  readinessGates: [{conditionType: KruisePodReady}]\n", "")
	require.NoError(t, os.WriteFile(manifest, []byte(text), 0o600))
	t.Cleanup(func() { assert.NoError(t, os.Remove(manifest)) })
	const name = "p-node-1"
	var before, after *corev1.Pod
	e.eventually("the static Pod runs", func(c *require.Assertions, ctx context.Context) {
		before, err = e.core.CoreV1().Pods(e.namespace).Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		c.Equal(corev1.ConditionTrue, condition(before, corev1.PodReady).Status)
	})
	e.apply(strings.ReplaceAll(recreate("r", both), "podName: p", "podName: "+name))
	request := e.succeeded("r")
	assert.True(t, request.Status.ContainerRecreateStates[0].IsKilled)
	after, err = e.core.CoreV1().Pods(e.namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, before.UID, after.UID)
	for _, container := range []string{"app", "sidecar"} {
		assert.EqualValues(t, 1, containerStatus(t, after, container).RestartCount, container)
	}
}

func restartInOrder(t *testing.T, e *env) {
	e.runPod("# APP", "readinessProbe: {httpGet: {path: /, port: web}, initialDelaySeconds: 4, periodSeconds: 1}")
	e.apply(recreate("r", both, "strategy: {orderedRecreate: true}"))
	e.succeeded("r")
	e.restartedTimes(1, 1)
	pod := e.pod()
	between := containerStatus(t, pod, "sidecar").State.Running.StartedAt.Sub(containerStatus(t, pod, "app").State.Running.StartedAt.Time)
	assert.GreaterOrEqual(t, between, 4*time.Second)
}

func restartAfterRequest(t *testing.T, e *env) {
	e.runPod("# APP", `lifecycle: {preStop: {httpGet: {path: "/burn?seconds=8&millicores=1", port: web}}}`)
	e.apply(recreate("r", app))
	request := e.succeeded("r")
	assert.Equal(t, "web", request.Spec.Containers[0].Ports[0].Name)
	assert.GreaterOrEqual(t, e.lived(request, "app"), 8*time.Second)
	assert.NotContains(t, e.podEvents(), "FailedPreStopHook")
}

func restartAfterExec(t *testing.T, e *env) {
	e.runPod("# APP", `lifecycle: {preStop: {exec: {command: [/demo, sleep, "8"]}}}`)
	e.apply(recreate("r", both))
	request := e.succeeded("r")
	assert.GreaterOrEqual(t, e.lived(request, "app"), 8*time.Second)
	assert.NotContains(t, e.podEvents(), "FailedPreStopHook")
	e.restartedTimes(1, 1)
}

func restartAfterFailedHook(t *testing.T, e *env) {
	e.runPod("# APP", "lifecycle: {preStop: {exec: {command: [/nosuch]}}}")
	e.apply(recreate("r", app))
	e.succeeded("r")
	e.restartedTimes(1, 0)
	e.said("FailedPreStopHook", "PreStop hook failed")
}

func restartWithoutGrace(t *testing.T, e *env) {
	e.runPod("# APP", `lifecycle: {preStop: {exec: {command: [/demo, sleep, "60"]}}}`,
		"terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds: 90")
	e.apply(recreate("r", app, "strategy: {terminationGracePeriodSeconds: 0}"))
	assert.Less(t, e.lived(e.succeeded("r"), "app"), 60*time.Second, "the hook does not run")
}

func restartStubborn(t *testing.T, e *env) {
	e.runPod("# APP", `env: [{name: IGNORE_SIGTERM, value: "true"}]`, "terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds: 90")
	e.apply(recreate("r", app, "strategy: {terminationGracePeriodSeconds: 5}"))
	request := e.succeeded("r")
	assert.GreaterOrEqual(t, e.lived(request, "app"), 5*time.Second)
	assert.Less(t, e.lived(request, "app"), 90*time.Second, "the grace period of the Pod does not count")
	assert.EqualValues(t, 137, containerStatus(t, e.pod(), "app").LastTerminationState.Terminated.ExitCode)
}

// gate returns the Pod's condition KruisePodReady.
func gate(pod *corev1.Pod) (status corev1.ConditionStatus, message string) {
	for _, c := range pod.Status.Conditions {
		if c.Type == pub.KruisePodReadyConditionType {
			return c.Status, c.Message
		}
	}
	return "", ""
}

func restartDrained(t *testing.T, e *env) {
	e.runPod()
	history := e.watchPods()
	e.apply(recreate("r", app, "strategy: {unreadyGracePeriodSeconds: 3}"))
	request := e.succeeded("r")
	assert.GreaterOrEqual(t, e.lived(request, "app"), 3*time.Second)
	drained := false
	for _, pod := range history() {
		status, message := gate(&pod.Pod)
		drained = drained || status == corev1.ConditionFalse && strings.Contains(message, `"userAgent":"ContainerRecreateRequest","key":"`+e.namespace+`/r"`)
	}
	assert.True(t, drained)
	e.eventually("the Pod is given back", func(c *require.Assertions, _ context.Context) {
		status, message := gate(e.pod())
		c.Equal(corev1.ConditionTrue, status)
		c.Equal("[]", message)
		c.Empty(e.recreateRequest("r").Finalizers)
	})
	e.kubectl("wait", "pod/p", "--for=condition=Ready", "--timeout=3m")
	alpha := e.kubectl("get", "containerrecreaterequests.v1alpha1.apps.kruise.io", "r", "-o", "yaml")
	assert.Contains(t, alpha, "crr.apps.kruise.io/unready-acquired: ")
	assert.Contains(t, alpha, "crr.apps.kruise.io/sync-container-statuses: ")
}

func restartDeletedInDrain(t *testing.T, e *env) {
	e.runPod()
	e.apply(recreate("r", app, "strategy: {unreadyGracePeriodSeconds: 40}"))
	e.eventually("the Pod is out of service", func(c *require.Assertions, _ context.Context) {
		status, _ := gate(e.pod())
		c.Equal(corev1.ConditionFalse, status)
	})
	e.kubectl("delete", "crr", "r", "--wait", "--timeout=3m")
	status, _ := gate(e.pod())
	assert.Equal(t, corev1.ConditionTrue, status)
	<-time.After(42 * time.Second)
	e.restartedTimes(0, 0)
}

func restartMinStarted(t *testing.T, e *env) {
	e.runPod()
	e.apply(recreate("r", app, "strategy: {minStartedSeconds: 10}"))
	request := e.succeeded("r")
	ran := request.Status.CompletionTime.Sub(containerStatus(t, e.pod(), "app").State.Running.StartedAt.Time)
	assert.GreaterOrEqual(t, ran, 10*time.Second)
}

func restartByForce(t *testing.T, e *env) {
	e.runPod()
	for _, name := range []string{"one", "two", "three"} {
		e.apply(recreate(name, app, "strategy: {forceRecreate: true}"))
	}
	for _, name := range []string{"one", "two", "three"} {
		e.succeeded(name)
	}
	e.restartedTimes(3, 0)
}

func restartDeadline(t *testing.T, e *env) {
	e.runPod("# APP", `lifecycle: {preStop: {exec: {command: [/demo, sleep, "45"]}}}`,
		"terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds: 90")
	e.apply(recreate("r", both, "activeDeadlineSeconds: 20"))
	request := e.completed("r")
	type state = v1beta1.ContainerRecreateRequestContainerRecreateState
	assert.Equal(t, []state{{Name: "app", Phase: "Pending"}, {Name: "sidecar", Phase: "Pending"}}, request.Status.ContainerRecreateStates)
	assert.Equal(t, "recreating has exceeded the activeDeadlineSeconds", request.Status.Message)
	e.eventually("it is restarted nevertheless", func(c *require.Assertions, _ context.Context) {
		c.EqualValues(1, containerStatus(t, e.pod(), "app").RestartCount)
	})
	ended := containerStatus(t, e.pod(), "app").LastTerminationState.Terminated.FinishedAt
	assert.True(t, request.Status.CompletionTime.Before(&ended), "the request ends before the hook")
	e.eventually("the result is recorded", func(c *require.Assertions, _ context.Context) {
		c.Equal([]state{{Name: "app", Phase: "Recreating", IsKilled: true}, {Name: "sidecar", Phase: "Pending"}},
			e.completed("r").Status.ContainerRecreateStates)
	})
	assert.Zero(t, containerStatus(t, e.pod(), "sidecar").RestartCount)
}

func restartPodDeleted(t *testing.T, e *env) {
	e.runPod("# APP", `lifecycle: {preStop: {exec: {command: [/demo, sleep, "25"]}}}`)
	e.apply(recreate("r", app))
	e.begun("r")
	e.kubectl("delete", "pod", "p", "--wait=false")
	assert.Equal(t, "pod has gone", e.completed("r").Status.Message)
}

func restartOld(_ *testing.T, e *env) {
	e.runPod()
	e.apply(recreate("r", app, "ttlSecondsAfterFinished: 20"))
	e.succeeded("r")
	e.eventually("it is deleted", func(c *require.Assertions, ctx context.Context) {
		_, err := e.kruise.AppsV1beta1().ContainerRecreateRequests(e.namespace).Get(ctx, "r", metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err), "%v", err)
	})
}

const slowHook = `lifecycle: {preStop: {exec: {command: [/demo, sleep, "20"]}}}`

func restartTwo(t *testing.T, e *env) {
	e.runPod("# APP", slowHook)
	e.apply(recreate("one", app))
	e.apply(recreate("two", "[{name: sidecar}]"))
	e.eventually("the second waits", func(c *require.Assertions, _ context.Context) {
		c.Equal(v1beta1.ContainerRecreateRequestPending, e.recreateRequest("two").Status.Phase)
		c.Equal("waiting for one", e.recreateRequest("two").Status.Message)
	})
	one, two := e.succeeded("one"), e.succeeded("two")
	assert.LessOrEqual(t, two.Status.CompletionTime.Sub(one.Status.CompletionTime.Time), time.Minute, "no wake-up is lost")
	e.restartedTimes(1, 1)
}

func restartFirstDeleted(t *testing.T, e *env) {
	e.runPod("# APP", slowHook)
	e.apply(recreate("one", app))
	e.begun("one")
	e.apply(recreate("two", "[{name: sidecar}]"))
	e.kubectl("delete", "crr", "one")
	e.succeeded("two")
	assert.EqualValues(t, 1, containerStatus(t, e.pod(), "sidecar").RestartCount)
}

func restartSecondDeleted(t *testing.T, e *env) {
	e.runPod("# APP", slowHook)
	e.apply(recreate("one", app))
	e.begun("one")
	e.apply(recreate("two", "[{name: sidecar}]"))
	e.apply(recreate("three", "[{name: sidecar}]"))
	e.kubectl("delete", "crr", "two")
	e.succeeded("one")
	e.succeeded("three")
	e.restartedTimes(1, 1)
}

// restartNever asks for a restart that is impossible. The request ends when the container has ended.
func restartNever(t *testing.T, e *env) {
	e.runPod("terminationGracePeriodSeconds: 30", "restartPolicy: Never")
	assert.Contains(t, e.apply(recreate("r", app)), "its containers are stopped and do not start again")
	assert.Equal(t, "containers [app] have ended and will not be started again", e.completed("r").Status.Message)
	assert.NotNil(t, containerStatus(t, e.pod(), "app").State.Terminated)
	assert.Zero(t, containerStatus(t, e.pod(), "app").RestartCount)
	assert.Equal(t, corev1.PodRunning, e.pod().Status.Phase, "the sidecar runs")
}

func restartMistakes(t *testing.T, e *env) {
	e.runPod()
	for text, want := range map[string]string{
		recreate("r", "[{name: first}]"):                                        "not found first containerStatus in Pod Status",
		recreate("r", "[{name: native}]"):                                       "not found native containerStatus in Pod Status",
		recreate("r", "[{name: nosuch}]"):                                       "container nosuch not found in Pod",
		recreate("r", "[{name: app}, {name: app}]"):                             "can not recreate app multi times",
		recreate("r", "[]"):                                                     "containers list can not be null",
		recreate("r", app, "activeDeadlineSeconds: 2"):                          "activeDeadlineSeconds can not be less than 3s",
		recreate("r", app, "strategy: {failurePolicy: Retry}"):                  "unknown failurePolicy Retry",
		recreate("r", "[{name: app, ports: [{containerPort: 1}]}]"):             "ready-only fields",
		strings.Replace(recreate("r", app), "podName: p", "podName: nosuch", 1): "no found Pod named nosuch",
	} {
		assert.Contains(t, e.refused(text, "create", "-f", "-"), want)
	}
	assert.NotContains(t, e.apply(recreate("good", app, "activeDeadlineSeconds: 300"), "--dry-run=server"), "no controller reconciles it yet")
	// A finalizer keeps the Pod terminating, however fast its node stops it.
	e.kubectl("patch", "pod", "p", "--type=merge", `--patch={"metadata":{"finalizers":["example.com/kept"]}}`)
	e.kubectl("delete", "pod", "p", "--wait=false")
	assert.Contains(t, e.refused(recreate("r", app), "create", "-f", "-"), "not allowed to recreate containers in an inactive Pod")
	e.kubectl("patch", "pod", "p", "--type=merge", `--patch={"metadata":{"finalizers":null}}`)
}

// restartVersions writes one API version and reads the other.
func restartVersions(t *testing.T, e *env) {
	e.runPod()
	created, err := e.kruise.AppsV1alpha1().ContainerRecreateRequests(e.namespace).Create(t.Context(), alphaRequest(), metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, ptr.To[int64](30), created.Spec.Strategy.TerminationGracePeriodSeconds)
	e.succeeded("r")
	read, err := e.kruise.AppsV1alpha1().ContainerRecreateRequests(e.namespace).Get(t.Context(), "r", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Contains(t, read.Annotations[pub.ContainerRecreateRequestSyncContainerStatusesKey], `"name":"app","ready":true,"restartCount":1,"containerID":"containerd://`)
}
