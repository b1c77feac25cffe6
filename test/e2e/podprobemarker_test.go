//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/workload/podstate"
)

const gameServers = `apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: game}
spec:
  replicas: 1
  selector: {matchLabels: {app: game}}
  template:
    metadata: {labels: {app: game}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: game
        image: kruise.local/game:v1
        imagePullPolicy: IfNotPresent
        ports: [{name: game, containerPort: 7777}]
      - name: side
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
`

// marker returns a PodProbeMarker for the Pods of the game. Each probe is YAML without its name.
func marker(name string, probes ...string) string {
	text := "apiVersion: apps.kruise.io/v1alpha1\nkind: PodProbeMarker\nmetadata: {name: " + name + "}\nspec:\n" +
		"  selector: {matchLabels: {app: game}}\n  probes:\n"
	for _, probe := range probes {
		text += "  - " + probe + "\n"
	}
	return text
}

// The timeouts are longer than the default of a second. On a busy machine, a command can take longer, and the probe then fails.
const (
	idleProbe = `{name: idle, containerName: game, podConditionType: e2e/idle, probe: {timeoutSeconds: 10, exec: {command: [/game, idle]}},
     markerPolicy: [{state: Succeeded, labels: {idle: "yes"}, annotations: {note: idle}}, {state: Failed, labels: {busy: "yes"}}]}`
	sideProbe = `{name: side, containerName: side, podConditionType: e2e/side, probe: {timeoutSeconds: 10, exec: {command: [/demo, sleep, "0"]}},
     markerPolicy: [{state: Succeeded, labels: {side: "yes"}}]}`
	portProbe = `{name: port, containerName: game, podConditionType: e2e/port, probe: {timeoutSeconds: 10, tcpSocket: {port: game}},
     markerPolicy: [{state: Succeeded, labels: {port: open}}]}`
	otherPort   = `{name: unknown, containerName: game, podConditionType: e2e/unknown, probe: {timeoutSeconds: 10, tcpSocket: {port: other}}}`
	movedProbe  = `{name: moved, containerName: game, podConditionType: e2e/moved, probe: {timeoutSeconds: 10, httpGet: {path: /elsewhere, port: game}}}`
	absentProbe = `{name: absent, containerName: game, podConditionType: e2e/absent, probe: {timeoutSeconds: 10, httpGet: {path: /absent, port: 7777}}}`
)

// resultOf returns "<status> <message>" of a condition of a Pod, or an empty string.
func resultOf(pod *corev1.Pod, kind corev1.PodConditionType) string {
	found := podstate.Condition(pod, kind)
	if found == nil {
		return ""
	}
	return strings.TrimSpace(string(found.Status) + " " + found.Message)
}

// play sets the number of players of a Pod.
func (e *env) play(pod *corev1.Pod, players string) {
	e.t.Helper()
	request, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, "http://"+pod.Status.PodIP+":7777/players?count="+players, nil)
	require.NoError(e.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(e.t, err)
	require.NoError(e.t, response.Body.Close())
	require.Equal(e.t, http.StatusOK, response.StatusCode)
}

// listed returns the probes that all nodes have of the test's namespace, as "<Pod> <probe>", sorted.
func (e *env) listed(ctx context.Context) (probes []string) {
	e.t.Helper()
	list, err := e.kruise.AppsV1alpha1().NodePodProbes().List(ctx, metav1.ListOptions{})
	require.NoError(e.t, err)
	for i := range list.Items {
		for _, entry := range list.Items[i].Spec.PodProbes {
			for _, probe := range entry.Probes {
				if entry.Namespace == e.namespace {
					probes = append(probes, entry.Name+" "+probe.Name)
				}
			}
		}
	}
	slices.Sort(probes)
	return probes
}

// marked waits until the Pods of the game pass check, and logs how long that took.
func (e *env) marked(what string, check func(c *require.Assertions, pods []corev1.Pod)) {
	e.t.Helper()
	began := time.Now()
	e.eventually(what, func(c *require.Assertions, _ context.Context) { check(c, e.pods("game")) })
	e.t.Logf("%s: after %v", what, time.Since(began).Round(100*time.Millisecond))
}

// Cases podprobemarker 1, 3, 4, 16, 17, 23, 27, 32, 33.
func TestProbesMarkPods(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(gameServers)
	e.ready("game", 1)
	history := e.watchPods()
	e.apply(marker("m", idleProbe, sideProbe, portProbe, otherPort, movedProbe, absentProbe))
	e.marked("the Pod is marked", func(c *require.Assertions, pods []corev1.Pod) {
		pod := &pods[0]
		c.Contains(resultOf(pod, "e2e/idle"), "True idle for ")
		c.Equal("True", resultOf(pod, "e2e/side"))
		c.Equal("True", resultOf(pod, "e2e/port"))
		c.Equal("True Probe terminated redirects, Response body:", resultOf(pod, "e2e/moved"))
		c.Contains(resultOf(pod, "e2e/absent"), "False")
		c.Contains(resultOf(pod, "e2e/absent"), "404")
		c.Equal([]string{"yes", "yes", "open", "idle"}, []string{pod.Labels["idle"], pod.Labels["side"], pod.Labels["port"], pod.Annotations["note"]})
	})
	pod := e.pods("game")[0]
	assert.Empty(t, resultOf(&pod, "e2e/unknown"), "a port that the container does not have")
	assert.NotContains(t, e.listed(t.Context()), pod.Name+" m#unknown")
	e.eventually("the status", func(c *require.Assertions, ctx context.Context) {
		m, err := e.kruise.AppsV1alpha1().PodProbeMarkers(e.namespace).Get(ctx, "m", metav1.GetOptions{})
		c.NoError(err)
		c.Equal(m.Generation, m.Status.ObservedGeneration)
		c.EqualValues(1, m.Status.MatchedPods)
		c.Equal([]string{"kruise.io/node-pod-probe-cleanup"}, m.Finalizers)
	})

	e.play(&pod, "2")
	e.marked("players join", func(c *require.Assertions, pods []corev1.Pod) {
		c.Equal("False 2 players", resultOf(&pods[0], "e2e/idle"))
	})
	before := podstate.Condition(&e.pods("game")[0], "e2e/idle")
	e.play(&pod, "3")
	e.marked("another player joins", func(c *require.Assertions, pods []corev1.Pod) {
		c.Equal("False 3 players", resultOf(&pods[0], "e2e/idle"))
	})
	after := podstate.Condition(&e.pods("game")[0], "e2e/idle")
	assert.Equal(t, before.LastTransitionTime, after.LastTransitionTime)
	e.play(&pod, "0")
	e.marked("the players leave", func(c *require.Assertions, pods []corev1.Pod) {
		c.Contains(resultOf(&pods[0], "e2e/idle"), "True idle for ")
	})
	flips := 0
	for _, seen := range history() {
		idle := podstate.Condition(&seen.Pod, "e2e/idle")
		if idle == nil {
			assert.NotContains(t, seen.Labels, "idle", "no label comes before its condition")
			continue
		}
		want := [3]string{"yes", "", "idle"}
		if idle.Status == corev1.ConditionFalse {
			want = [3]string{"", "yes", ""}
			flips++
		}
		assert.Equal(t, want, [3]string{seen.Labels["idle"], seen.Labels["busy"], seen.Annotations["note"]}, "marks and condition come together")
	}
	assert.Positive(t, flips)
	e.said("KruiseProbeSucceeded", "idle for ")
	e.said("KruiseProbeFailed", "2 players")
}

// Cases podprobemarker 9, 28, 31.
func TestProbesCanBeChanged(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(gameServers)
	e.ready("game", 1)
	all := []string{idleProbe, sideProbe, portProbe}
	state := func(want ...string) func(*require.Assertions, []corev1.Pod) {
		return func(c *require.Assertions, pods []corev1.Pod) {
			pod := &pods[0]
			got := []string{}
			for _, kind := range []corev1.PodConditionType{"e2e/idle", "e2e/side", "e2e/port"} {
				status, _, _ := strings.Cut(resultOf(pod, kind), " ")
				got = append(got, status)
			}
			c.Equal(want, append(got, pod.Labels["idle"]+" "+pod.Labels["busy"]+" "+pod.Labels["side"]+" "+pod.Labels["port"]))
		}
	}
	e.apply(marker("m", all...))
	e.marked("marked", state("True", "True", "True", "yes  yes open"))
	broken := func(probe string) string {
		return strings.NewReplacer("/game, idle", "/nowhere", "/demo, sleep", "/nowhere, sleep", "port: game", "port: 8081").Replace(probe)
	}
	e.apply(marker("m", broken(idleProbe), broken(sideProbe), broken(portProbe)))
	e.marked("all fail", state("False", "False", "False", " yes  "))
	e.apply(marker("m", idleProbe, broken(sideProbe), portProbe))
	e.marked("two succeed again", state("True", "False", "True", "yes   open"))

	e.apply(marker("m", portProbe))
	pod := e.pods("game")[0]
	e.eventually("two probes are removed", func(c *require.Assertions, ctx context.Context) {
		c.Equal([]string{pod.Name + " m#port"}, e.listed(ctx))
		node, err := e.kruise.AppsV1alpha1().NodePodProbes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
		c.NoError(err)
		i := slices.IndexFunc(node.Status.PodProbeStatuses, func(s v1alpha1.PodProbeStatus) bool { return s.UID == string(pod.UID) })
		c.GreaterOrEqual(i, 0)
		c.Len(node.Status.PodProbeStatuses[i].ProbeStates, 1)
	})
}

// Cases podprobemarker 5, 6, 10, 15, 29, 30.
func TestProbesComeAndGoWithPodsAndMarkers(t *testing.T) {
	t.Parallel()
	e, other := newEnv(t), newEnv(t)
	for _, one := range []*env{e, other} {
		one.apply(marker("foo", idleProbe))
		one.apply(replaced(gameServers, "replicas: 1", "replicas: 3"))
	}
	e.apply(marker("bar-foo", sideProbe))
	e.ready("game", 3)
	other.ready("game", 3)
	marked := func(c *require.Assertions, pods []corev1.Pod) {
		c.Len(pods, 3)
		for i := range pods {
			c.Equal("yes", pods[i].Labels["idle"])
			c.Equal("yes", pods[i].Labels["side"])
		}
	}
	e.marked("all are marked", marked)
	assert.Len(t, e.listed(t.Context()), 6)
	e.eventually("the Pods of the other namespace are probed", func(c *require.Assertions, ctx context.Context) { c.Len(other.listed(ctx), 3) })

	e.kubectl("scale", "cloneset", "game", "--replicas=1")
	e.eventually("two Pods are no longer probed", func(c *require.Assertions, ctx context.Context) { c.Len(e.listed(ctx), 2) })
	e.kubectl("scale", "cloneset", "game", "--replicas=3")
	e.ready("game", 3)
	e.marked("the new Pods are marked", marked)

	e.kubectl("label", "pod", e.pods("game")[0].Name, "app=alone", "--overwrite")
	e.eventually("a Pod without the label is not probed", func(c *require.Assertions, ctx context.Context) {
		for _, pod := range e.pods("alone") {
			for _, probe := range e.listed(ctx) {
				c.NotContains(probe, pod.Name)
			}
		}
	})

	e.ready("game", 3)
	e.kubectl("delete", "podprobemarker", "foo", "--timeout=3m")
	for _, probe := range e.listed(t.Context()) {
		assert.Contains(t, probe, " bar-foo#")
	}
	assert.Len(t, other.listed(t.Context()), 3, "that of another namespace stays")
	e.kubectl("delete", "podprobemarker", "bar-foo", "--timeout=3m")
	assert.Empty(t, e.listed(t.Context()))
	e.marked("marks stay", func(c *require.Assertions, pods []corev1.Pod) {
		c.Len(pods, 3)
		for i := range pods {
			if resultOf(&pods[i], "e2e/side") != "" {
				c.Equal("yes", pods[i].Labels["side"])
			}
		}
	})
	require.NoError(t, other.core.CoreV1().Namespaces().Delete(t.Context(), other.namespace, metav1.DeleteOptions{}))
	other.eventually("a namespace with a PodProbeMarker is deleted", func(c *require.Assertions, ctx context.Context) {
		_, err := other.core.CoreV1().Namespaces().Get(ctx, other.namespace, metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err))
	})
}

// Case podprobemarker 12.
func TestProbeOfAContainerThatEnds(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(marker("m", strings.Replace(sideProbe, "containerName: side", "containerName: short", 1)))
	e.apply(`apiVersion: v1
kind: Pod
metadata: {name: game, labels: {app: game}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - {name: game, image: kruise.local/game:v1, imagePullPolicy: IfNotPresent}
  - {name: short, image: kruise.local/demo:v1, imagePullPolicy: IfNotPresent, env: [{name: RUN_SECONDS, value: "60"}]}
`)
	e.eventually("it succeeds while the container runs", func(c *require.Assertions, _ context.Context) {
		pods := e.pods("game")
		c.Len(pods, 1)
		c.Equal("True", resultOf(&pods[0], "e2e/side"))
	})
	e.marked("it fails when the container has ended", func(c *require.Assertions, pods []corev1.Pod) {
		c.Equal("False Container(short) is Non-running", resultOf(&pods[0], "e2e/side"))
		c.NotContains(pods[0].Labels, "side")
	})
}

// The example scales in game servers, and those with players stay.
func TestIdleGameServersGoFirst(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text, err := os.ReadFile("../../artifacts/examples/gameserver.yaml")
	require.NoError(t, err)
	e.apply(string(text))
	e.ready("game", 4)
	busy := map[string]bool{}
	// Without the deletion cost, a CloneSet deletes the youngest Pods first.
	pods := e.pods("game")
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for i := range pods[:2] {
		e.play(&pods[i], "3")
		busy[pods[i].Name] = true
	}
	e.marked("all are marked", func(c *require.Assertions, pods []corev1.Pod) {
		for i := range pods {
			want := map[bool][2]string{true: {"some", "10"}, false: {"none", "-10"}}[busy[pods[i].Name]]
			c.Equal(want, [2]string{pods[i].Labels["players"], pods[i].Annotations["controller.kubernetes.io/pod-deletion-cost"]})
		}
	})
	e.kubectl("scale", "cloneset", "game", "--replicas=2")
	e.eventually("two are left", func(c *require.Assertions, _ context.Context) { c.Len(e.pods("game"), 2) })
	for _, pod := range e.pods("game") {
		assert.True(t, busy[pod.Name], "%s was idle", pod.Name)
	}
}
