//go:build e2e && fault

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/hack/localcluster"
	"kruise.io/kruise/test/openkruise"
)

const (
	// settles is how long the controllers and the garbage collector work after a take-over and after a return. The environment variable
	// TAKEOVER_SETTLES sets a shorter time.
	settles = 10 * time.Minute
	// crowd is how many objects the second take-over has to move in addition.
	crowd = 5000
)

// TestTakeoverKeepsPods moves a cluster with each version of OpenKruise to kruise-apiserver, back, and there again. Its 320 Pods on real
// and simulated nodes belong to rollouts that are held in the middle. The commands are killed at each step. No Pod is deleted, restarted
// or changed, and the rollouts go on where they were. No write of a Pod in another namespace is refused. The last take-over also moves 5,000
// objects without Pods.
func TestTakeoverKeepsPods(t *testing.T) {
	for _, generation := range openkruise.Generations() {
		t.Run(generation.Version, func(t *testing.T) { takeoverKeepsPods(newMove(t, generation)) })
	}
}

func takeoverKeepsPods(m *move) {
	t := m.t
	m.workloads()
	m.toDefinitions()
	crowd := openkruise.NewCrowd(t.Context(), m.core, metav1.NamespaceDefault)
	t.Cleanup(crowd.Stop)

	before, objects := m.pods(), m.objects()
	m.installBeside()
	m.takeover(killed)
	m.sameObjects(objects)
	m.kept("the take-over", before)
	m.startControllers()
	m.sameRights()
	m.stays("the start of the controllers", before)
	m.resume("v2")

	m.hold("v1")
	before = m.pods()
	m.takeover(killed, "back")
	m.kubectl("api-resources", "--api-group=apps.kruise.io") // Without it, kubectl uses the discovery of before for six hours.
	m.kubectl("get", "clonesets", "--all-namespaces")
	m.kept("the return", before)
	m.leave("kruise-next")
	m.oldManagerRuns()
	m.revisions()
	m.stays("the return", before)

	m.crowd()
	objects = m.objects()
	closed := m.takeover(undisturbed)
	t.Logf("%d objects: the API was closed for %s", len(objects), closed)
	m.sameObjects(objects)
	m.kept("the second take-over", before)
	m.startControllers()
	m.sameRights()
	m.takeover(killed, "finish")
	definitions, err := m.dynamic.Resource(definitionResource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, definitions.Items)
	m.stays("the deletion of the CustomResourceDefinitions", before)
	m.resume("v1")
	crowd.Stop()
	t.Logf("%d writes of Pods in another namespace", crowd.Writes)
	assert.Empty(t, crowd.Refused)
}

// newMove starts a cluster with real and simulated nodes, and installs the chart.
func newMove(t *testing.T, generation openkruise.Generation) *move {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, values := separateCluster(t, root, "takeover", func(config *localcluster.Config) {
		config.Nodes, config.KWOKNodes, config.Storage = 2, 4, true
	})
	t.Setenv("KUBECONFIG", cluster.Kubeconfig())
	m := &move{env: environment(t, cluster), cluster: cluster, chart: filepath.Join(root, "artifacts", "helm", "kruise"), generation: generation}
	m.namespace = "shop"
	m.connect()
	for name, labels := range map[string]map[string]string{system: {"control-plane": generation.Label}, m.namespace: nil} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		_, err := m.core.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	require.NoError(t, openkruise.BindEditor(t.Context(), m.core, m.namespace))
	const nodes = "daemon.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
	for _, value := range append(values, nodes+".key=type", nodes+".operator=NotIn", nodes+".values[0]=kwok", "daemon.bindAddress=$(NODE_ADDRESS)") {
		m.set = append(m.set, "--set-string", value)
	}
	// The namespace exists, as OpenKruise has created it. Helm takes it over with the rest.
	installExternal(t, m.env, cluster, m.chart, append([]string{"--take-ownership"}, m.set...))
	m.eventually("the roles are aggregated", func(c *require.Assertions, _ context.Context) {
		m.rights = m.freshRights()
		c.Contains(strings.Join(m.rights["editor in "+m.namespace], "\n"), "clonesets")
	})
	return m
}

// workloads creates 20 objects of each kind, and holds their rollouts in the middle.
func (m *move) workloads() {
	m.t.Helper()
	m.apply(m.simulated("v1") + m.real("v1", false))
	m.eventually("all Pods run", func(c *require.Assertions, _ context.Context) {
		pods := m.pods()
		c.Len(pods, 20*15+19)
		for name, pod := range pods {
			c.True(pod.ready, name)
		}
	})
	m.apply(m.simulated("v2"))
	m.hold("v2")
	m.t.Logf("%d Pods", len(m.pods()))
}

// hold changes the image of the workloads on real nodes, and waits until nothing more happens.
func (m *move) hold(image string) {
	m.t.Helper()
	m.apply(m.real(image, true))
	m.t.Log("waiting until the rollouts are where they are held")
	held := func(c *require.Assertions, _ context.Context) {
		for name, want := range map[string]int{"part": 2, "held": 0, "hook": 0, "ordered": 1, "nodes": 1, "united": 2} {
			c.Len(m.with(name, image), want, "Pods of %s with the new image", name)
		}
	}
	m.eventually("the rollouts are where they are held", held)
	m.steady()
	held(require.New(m.t), m.t.Context())
}

// resume ends what holds the rollouts. Those in place go on in the same Pods.
func (m *move) resume(image string) {
	m.t.Helper()
	before := m.pods()
	for name, patch := range map[string]string{
		"clonesets.v1alpha1.apps.kruise.io/part":           `{"spec":{"updateStrategy":{"partition":0}}}`,
		"clonesets.v1alpha1.apps.kruise.io/held":           `{"spec":{"updateStrategy":{"paused":false}}}`,
		"statefulsets.v1beta1.apps.kruise.io/ordered":      `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`,
		"daemonsets.v1alpha1.apps.kruise.io/nodes":         `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`,
		"uniteddeployments.v1alpha1.apps.kruise.io/united": `{"spec":{"updateStrategy":{"manualUpdate":{"partitions":{"a":0,"b":0}}}}}`,
	} {
		m.kubectl("patch", name, "--type=merge", "--patch="+patch)
	}
	m.eventually("the hook lets its Pods go, and all rollouts complete", func(c *require.Assertions, ctx context.Context) {
		for state, hold := range map[string]string{"PreparingUpdate": "null", "Updated": `"true"`} {
			waiting, err := m.core.CoreV1().Pods(m.namespace).List(ctx, metav1.ListOptions{
				LabelSelector: "app=hook,lifecycle.apps.kruise.io/state=" + state,
			})
			c.NoError(err)
			for i := range waiting.Items {
				_, err := m.core.CoreV1().Pods(m.namespace).Patch(ctx, waiting.Items[i].Name, types.MergePatchType,
					[]byte(`{"metadata":{"labels":{"example.com/hold":`+hold+`}}}`), metav1.PatchOptions{})
				c.NoError(err)
			}
		}
		for name, want := range map[string]int{"part": 5, "held": 3, "hook": 2, "ordered": 3, "nodes": 2, "united": 4} {
			c.Len(m.with(name, image), want, "Pods of %s with the new image", name)
		}
	})
	after := m.pods()
	for name, pod := range before {
		if slices.Contains([]string{"part", "held", "hook", "united"}, pod.app) {
			assert.Equal(m.t, pod.uid, after[name].uid, "%s is updated in place", name)
		}
	}
}

// installBeside installs the apiserver beside the CustomResourceDefinitions, and reads what its event says.
func (m *move) installBeside() {
	m.t.Helper()
	m.helm(append([]string{"install", "kruise-next", m.chart, "--set", "takeover=true"}, m.set...)...)
	m.eventually("an event names the command", func(c *require.Assertions, ctx context.Context) {
		events, err := m.core.CoreV1().Events(system).List(ctx, metav1.ListOptions{FieldSelector: "reason=StoreClosed"})
		c.NoError(err)
		c.NotEmpty(events.Items)
		c.Contains(events.Items[len(events.Items)-1].Message, "run kubectl kruise takeover")
	})
	out, err := m.plugin("takeover", "--dry-run")
	require.NoError(m.t, err, "%s", out)
	m.t.Log(out)
}

func (m *move) startControllers() {
	m.t.Helper()
	m.helm(append([]string{"upgrade", "kruise-next", m.chart, "--set", "takeover=false", "--take-ownership"}, m.set...)...)
	for _, workload := range []string{"deployment/kruise-controller-manager", "daemonset/kruise-daemon"} {
		m.system("rollout", "status", workload, "--timeout=3m")
	}
}

func (m *move) helm(args ...string) {
	m.t.Helper()
	out, err := exec.CommandContext(m.t.Context(), m.cluster.Binary("helm"), append(args, "--namespace", "default")...).CombinedOutput()
	require.NoError(m.t, err, "%s", out)
}

// Ways to run a command of the take-over.
const (
	undisturbed = false
	killed      = true
)

var (
	stepLine   = regexp.MustCompile(`^\[(\d+)/(\d+)\]`)
	closedLine = regexp.MustCompile(`the API was closed for (\S+)`)
)

// takeover runs the command until it is complete. If wanted, it kills the command at each step. It returns how long the API was closed.
func (m *move) takeover(kill bool, args ...string) time.Duration {
	m.t.Helper()
	program, err := buildPlugin()
	require.NoError(m.t, err)
	var closed time.Duration
	for attempt := 1; attempt < 30; attempt++ {
		command := exec.CommandContext(m.t.Context(), program, append([]string{"takeover"}, args...)...)
		var problems strings.Builder
		command.Stderr = &problems
		out, err := command.StdoutPipe()
		require.NoError(m.t, err)
		require.NoError(m.t, command.Start())
		begin, ended := time.Now(), false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			m.t.Logf("%5.1f s %s", time.Since(begin).Seconds(), lines.Text())
			if found := closedLine.FindStringSubmatch(lines.Text()); found != nil {
				closed, err = time.ParseDuration(found[1])
				require.NoError(m.t, err)
			}
			if found := stepLine.FindStringSubmatch(lines.Text()); kill && found != nil && !ended {
				step, err := strconv.Atoi(found[1])
				require.NoError(m.t, err)
				if ended = step >= attempt; ended {
					// At different times after the step began, but the same ones in each run.
					time.AfterFunc(time.Duration(step*step*31%500)*time.Millisecond, func() { _ = command.Process.Kill() })
				}
			}
		}
		if err := command.Wait(); err == nil {
			require.True(m.t, !kill || attempt > 1, "the command was killed before it was complete")
			return closed
		}
		require.True(m.t, kill && command.ProcessState.ExitCode() == -1, "%s", problems.String())
		m.t.Logf("killed in attempt %d", attempt)
	}
	require.Fail(m.t, "the command does not end")
	return 0
}

// crowd creates objects without Pods in the CustomResourceDefinitions.
func (m *move) crowd() {
	m.t.Helper()
	client := m.dynamic.Resource(cloneSets).Namespace(metav1.NamespaceDefault)
	sample, err := m.dynamic.Resource(cloneSets).Namespace(m.namespace).Get(m.t.Context(), "held", metav1.GetOptions{})
	require.NoError(m.t, err)
	spec, ok := sample.Object["spec"].(map[string]any)
	require.True(m.t, ok)
	spec["replicas"] = int64(0)
	for i := range crowd {
		one := sample.DeepCopy()
		one.Object = map[string]any{
			"apiVersion": sample.GetAPIVersion(), "kind": sample.GetKind(),
			"metadata": map[string]any{"name": fmt.Sprintf("empty-%d", i)}, "spec": one.Object["spec"],
		}
		_, err := client.Create(m.t.Context(), one, metav1.CreateOptions{})
		require.NoError(m.t, err)
	}
}

// podState is what a take-over must not change in a Pod.
type podState struct {
	app, uid, content, containers string
	// image is that of the container main.
	image string
	ready bool
	// version is the resourceVersion.
	version string
}

// pods returns the state of all Pods of the workloads by name.
func (m *move) pods() map[string]podState {
	m.t.Helper()
	list, err := m.core.CoreV1().Pods(m.namespace).List(m.t.Context(), metav1.ListOptions{})
	require.NoError(m.t, err)
	states := map[string]podState{}
	for i := range list.Items {
		pod := &list.Items[i]
		state := podState{app: pod.Labels["app"], uid: string(pod.UID), version: pod.ResourceVersion}
		for _, container := range pod.Status.ContainerStatuses {
			state.containers += fmt.Sprint(container.ContainerID, container.RestartCount, " ")
		}
		for _, condition := range pod.Status.Conditions {
			state.ready = state.ready || condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
		}
		for _, container := range pod.Spec.Containers {
			if container.Name == "main" {
				state.image = container.Image
			}
		}
		content := pod.DeepCopy()
		content.ResourceVersion, content.ManagedFields, content.Status = "", nil, corev1.PodStatus{}
		text, err := json.Marshal(content)
		require.NoError(m.t, err)
		state.content = string(text)
		states[pod.Name] = state
	}
	return states
}

// with returns the Pods of a workload that have an image.
func (m *move) with(app, image string) []string {
	m.t.Helper()
	var names []string
	for name, pod := range m.pods() {
		if pod.app == app && pod.image == "kruise.local/demo:"+image {
			names = append(names, name)
		}
	}
	return names
}

// steady waits until no Pod was written for 20 seconds.
func (m *move) steady() {
	m.t.Helper()
	before, since := m.pods(), time.Now()
	m.eventually("no Pod is written any more", func(c *require.Assertions, _ context.Context) {
		now := m.pods()
		if !assert.ObjectsAreEqual(before, now) {
			before, since = now, time.Now()
		}
		c.Greater(time.Since(since), 20*time.Second)
	})
}

// kept compares all Pods with those of before.
func (m *move) kept(after string, before map[string]podState) {
	m.t.Helper()
	now := m.pods()
	written := 0
	for name, pod := range before {
		assert.Equal(m.t, pod.uid, now[name].uid, "%s after %s", name, after)
		assert.Equal(m.t, pod.content, now[name].content, "%s after %s", name, after)
		assert.Equal(m.t, pod.containers, now[name].containers, "%s after %s", name, after)
		if pod.version != now[name].version {
			written++
		}
	}
	assert.ElementsMatch(m.t, slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(now)), "after %s", after)
	m.t.Logf("after %s: %d of %d Pods have a new resourceVersion", after, written, len(before))
	require.False(m.t, m.t.Failed())
}

// stays compares the Pods again and again while controllers and the garbage collector work.
func (m *move) stays(after string, before map[string]podState) {
	m.t.Helper()
	length := settles
	if text := os.Getenv("TAKEOVER_SETTLES"); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		require.NoError(m.t, err)
	}
	for begin := time.Now(); time.Since(begin) < length; {
		select {
		case <-m.t.Context().Done():
			return
		case <-time.After(time.Minute):
		}
		m.kept(fmt.Sprintf("%s (%s)", after, time.Since(begin).Round(time.Second)), before)
	}
}

// objects returns, for each object, what a take-over must keep.
func (m *move) objects() map[string]string {
	m.t.Helper()
	states := map[string]string{}
	for _, kind := range m.kinds {
		list, err := m.dynamic.Resource(kind.stored()).List(m.t.Context(), metav1.ListOptions{})
		require.NoError(m.t, err)
		for i := range list.Items {
			object := &list.Items[i]
			text, err := json.Marshal(map[string]any{
				"uid": object.GetUID(), "created": object.GetCreationTimestamp().UTC(), "generation": object.GetGeneration(),
				"labels": object.GetLabels(), "annotations": object.GetAnnotations(), "finalizers": object.GetFinalizers(),
				"owners": object.GetOwnerReferences(), "spec": object.Object["spec"],
			})
			require.NoError(m.t, err)
			states[kind.plural+" "+object.GetNamespace()+"/"+object.GetName()] = string(text)
		}
	}
	return states
}

func (m *move) sameObjects(before map[string]string) {
	m.t.Helper()
	now := m.objects()
	for name, text := range before {
		assert.JSONEq(m.t, text, now[name], name)
	}
	assert.Len(m.t, now, len(before))
	require.False(m.t, m.t.Failed())
}
