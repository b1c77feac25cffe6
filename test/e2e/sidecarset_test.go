//go:build e2e

package e2e

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// sidecarSet applies a SidecarSet for Pods of an app in the test's namespace, waits until new Pods are injected, and deletes the
// SidecarSet when the test ends.
func (e *env) sidecarSet(app, spec string) (name string) {
	e.t.Helper()
	return e.sidecarSetFor(app, "{matchLabels: {app: "+app+"}}", spec)
}

// sidecarSetFor is sidecarSet for the Pods of a selector, which must select Pods of the app suffix. The name of a SidecarSet is unique in
// the cluster.
func (e *env) sidecarSetFor(suffix, selector, spec string) (name string) {
	e.t.Helper()
	name, _ = e.sidecarSetAtOnce(suffix, selector, spec)
	e.injected(map[string]string{"app": suffix})
	return name
}

// injected waits until a new Pod with the labels gets containers. The answer to a write of a SidecarSet waits for this too, but only some
// seconds, which can be too short on a busy machine.
func (e *env) injected(labels map[string]string) {
	e.t.Helper()
	e.eventually("new Pods are injected", func(c *require.Assertions, ctx context.Context) {
		pod, err := e.core.CoreV1().Pods(e.namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "injected-", Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "kruise.local/demo:v1"}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		c.NoError(err)
		c.Greater(len(pod.Spec.Containers), 1)
	})
}

// saysTooEarly reports whether the answer to a write has the documented warning that the write has no effect on new Pods yet.
func saysTooEarly(answer string) bool {
	return strings.Contains(answer, "Warning: the write has no effect on new Pods yet") || strings.Contains(answer, "Warning: new Pods in namespace ")
}

// sidecarSetAtOnce is sidecarSetFor without the wait for new Pods. It also returns the output of kubectl.
func (e *env) sidecarSetAtOnce(suffix, selector, spec string) (name, answer string) {
	e.t.Helper()
	name = e.namespace + "-" + suffix
	answer = e.apply(strings.NewReplacer("NAMESPACE", e.namespace, "NAME", name, "SELECTOR", selector).Replace(`apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata:
  name: NAME
spec:
  selector: SELECTOR
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
` + spec))
	e.t.Cleanup(func() { e.deleteSidecarSet(name) })
	return name, answer
}

func (e *env) deleteSidecarSet(name string) {
	_ = e.kruise.AppsV1beta1().SidecarSets().Delete(context.WithoutCancel(e.t.Context()), name, metav1.DeleteOptions{})
}

// sidecarImage starts an upgrade to the image.
func (e *env) sidecarImage(name, image string) {
	e.t.Helper()
	_, err := e.kruise.AppsV1beta1().SidecarSets().Patch(e.t.Context(), name, types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/containers/0/image","value":"`+image+`"}]`), metav1.PatchOptions{})
	require.NoError(e.t, err)
}

// upgraded waits until the Pods of the SidecarSet are updated and ready.
func (e *env) upgraded(name string, pods int32) *v1beta1.SidecarSet {
	e.t.Helper()
	var set *v1beta1.SidecarSet
	e.eventually("SidecarSet "+name+" is rolled out", func(c *require.Assertions, ctx context.Context) {
		var err error
		set, err = e.kruise.AppsV1beta1().SidecarSets().Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		c.Equal(set.Generation, set.Status.ObservedGeneration)
		c.Equal(pods, set.Status.MatchedPods, "matchedPods")
		c.Equal(pods, set.Status.UpdatedPods, "updatedPods")
		c.Equal(pods, set.Status.UpdatedReadyPods, "updatedReadyPods")
	})
	return set
}

const agentSpec = `  containers:
  - name: agent
    image: kruise.local/demo:v1
    args: [sleep, "36000"]
  updateStrategy: {maxUnavailable: 1}
`

// A SidecarSet and the CloneSet that owns its Pods are upgraded at the same time. Both keep the Pods, and each restarts its own
// container once.
// Cases sidecarset 1, 11.
func TestSidecarIsUpgradedBesideItsWorkload(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	name := e.sidecarSet("both", agentSpec)
	e.apply(manifest("both"))
	e.ready("both", 3)
	e.upgraded(name, 3)
	old := byUID(e.pods("both"))
	require.Len(t, old, 3)
	for _, pod := range old {
		require.Len(t, pod.Spec.Containers, 2)
		require.Equal(t, "agent", pod.Spec.Containers[0].Name)
	}
	e.sidecarImage(name, "kruise.local/demo:v2")
	e.apply(manifest("both", "demo:v1", "demo:v2"))
	e.ready("both", 3)
	e.upgraded(name, 3)
	e.eventually("both containers of each Pod are new", func(c *require.Assertions, _ context.Context) {
		pods := byUID(e.pods("both"))
		c.Len(pods, 3)
		for uid, pod := range pods {
			c.Contains(old, uid, "the same Pods")
			was := old[uid]
			for _, container := range pod.Spec.Containers {
				status := statusOf(&pod, container.Name)
				c.NotNil(status)
				c.Equal("kruise.local/demo:v2", status.Image, "%s of %s", container.Name, pod.Name)
				c.Equal(statusOf(&was, container.Name).RestartCount+1, status.RestartCount, "%s of %s", container.Name, pod.Name)
			}
		}
	})
	assert.Contains(t, e.kubectl("get", "sidecarset", name), "3")
}

// Pods of a Deployment are injected when they are created directly after the SidecarSet. If the answer to its creation warns that this is
// too early, which a busy machine can cause, the test is repeated in another namespace.
// Case pod-admission 21.
func TestWorkloadAfterItsSidecarSetIsInjected(t *testing.T) {
	t.Parallel()
	for range 5 {
		e := newEnv(t)
		name, answer := e.sidecarSetAtOnce("after", "{matchLabels: {app: after}}", agentSpec)
		if saysTooEarly(answer) {
			t.Log(answer)
			continue
		}
		workloadIsInjected(e, name)
		return
	}
	t.Fatal("each answer warned")
}

// workloadIsInjected creates a Deployment and checks that its Pods have the sidecar.
func workloadIsInjected(e *env, name string) {
	e.t.Helper()
	e.apply(strings.NewReplacer("apps.kruise.io/v1alpha1", "apps/v1", "CloneSet", "Deployment",
		"  updateStrategy:\n    type: InPlaceIfPossible\n    maxUnavailable: 1\n", "").Replace(manifest("after")))
	e.upgraded(name, 3)
	for _, pod := range e.pods("after") {
		assert.Len(e.t, pod.Spec.Containers, 2, pod.Name)
	}
}

const meshSpec = `  volumes:
  - {name: handover, emptyDir: {}}
  containers:
  - name: mesh
    image: kruise.local/mesh:v1
    upgradeStrategy: {upgradeType: HotUpgrade, hotUpgradeEmptyImage: "kruise.local/mesh:empty"}
    lifecycle: {postStart: {exec: {command: [/mesh, wait]}}}
    volumeMounts:
    - {name: handover, mountPath: /handover}
`

// clientOf sends a request to the sidecar of a Pod every 10 ms.
type clientOf struct {
	address string
	lock    sync.Mutex
	sent    int
	lost    []string
}

func (c *clientOf) run(ctx context.Context) {
	var requests sync.WaitGroup
	defer requests.Wait()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			requests.Go(func() { c.send(context.WithoutCancel(ctx), client) })
		}
	}
}

func (c *clientOf) send(ctx context.Context, client *http.Client) {
	err := c.request(ctx, client)
	c.lock.Lock()
	defer c.lock.Unlock()
	c.sent++
	if err != nil {
		c.lost = append(c.lost, time.Now().Format(time.RFC3339Nano)+" "+err.Error())
	}
}

func (c *clientOf) request(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.address, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// A client sends a request through the sidecar every 10 ms. No request fails during 20 hot upgrades in a row.
// Case sidecarset 18.
func TestHotUpgradesLoseNoRequest(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.quickRestarts()
	name := e.sidecarSet("hot", meshSpec)
	e.apply(manifest("hot", "replicas: 3", "replicas: 1"))
	e.ready("hot", 1)
	e.upgraded(name, 1)
	pod := e.pods("hot")[0]
	client := &clientOf{address: "http://" + pod.Status.PodIP + ":8081/"}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { client.run(ctx) })
	for i := range 20 {
		e.sidecarImage(name, []string{"kruise.local/mesh:v2", "kruise.local/mesh:v1"}[i%2])
		e.upgraded(name, 1)
	}
	cancel()
	running.Wait()
	assert.Empty(t, client.lost, "of %d", client.sent)
	assert.Greater(t, client.sent, 500)
	after := e.pods("hot")
	require.Len(t, after, 1)
	assert.Equal(t, pod.UID, after[0].UID)
	assert.Contains(t, after[0].Annotations["kruise.io/sidecarset-working-hotupgrade-container"], "mesh-1")
	e.said("ResetContainerSucceed", name)
	// Case kubectl-plugin 18.
	e.runs("Enter working container mesh-1 of SidecarSet.\n", "exec", pod.Name, "-S", "mesh", "--", "/mesh", "wait")
}

// The examples of the repository work without changes. If the answer to the SidecarSet warns that its Deployment comes too early, which a
// busy machine can cause, new Pods replace its Pods later.
func TestExamplesOfSidecarSetsWork(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for file, example := range map[string]struct {
		set, deployment string
		labels          map[string]string
	}{
		"sidecarset-log-agent.yaml": {"log-agent", "shop", map[string]string{"app": "shop"}},
		"sidecarset-mesh.yaml":      {"mesh", "booking", map[string]string{"mesh": "enabled"}},
	} {
		set := example.set
		text, err := os.ReadFile("../../artifacts/examples/" + file)
		require.NoError(t, err)
		name := e.namespace + "-" + set
		e.t.Cleanup(func() { e.deleteSidecarSet(name) })
		answer := e.apply(strings.NewReplacer("namespace: default", "namespace: "+e.namespace, "metadata.name: default", "metadata.name: "+e.namespace,
			"name: "+set+"\nspec:\n  selector:\n    matchLabels: {", "name: "+name+"\nspec:\n  selector:\n    matchLabels: {").Replace(string(text)))
		if saysTooEarly(answer) {
			t.Log(answer)
			e.injected(example.labels)
			e.kubectl("rollout", "restart", "deployment/"+example.deployment)
		}
	}
	e.kubectl("rollout", "status", "deployment/shop", "--timeout=3m")
	e.kubectl("rollout", "status", "deployment/booking", "--timeout=3m")
	e.eventually("the agent follows the log", func(c *require.Assertions, ctx context.Context) {
		out, err := e.command(ctx, "logs", "deployment/shop", "-c", "log-agent").CombinedOutput()
		c.NoError(err, "%s", out)
		c.Contains(string(out), "agent v1 follows /logs/shop.log of books")
		c.Contains(string(out), "order 1")
	})
	for _, pod := range e.pods("booking") {
		assert.Equal(t, "mesh-init", pod.Spec.InitContainers[0].Name)
		assert.Equal(t, "mesh-proxy-1", pod.Spec.Containers[0].Name)
		assert.Equal(t, "10m", pod.Spec.Containers[0].Resources.Requests.Cpu().String(), "at least")
	}
	e.sidecarImage(e.namespace+"-mesh", "kruise.local/mesh:v2")
	e.upgraded(e.namespace+"-mesh", 2)
	e.sidecarImage(e.namespace+"-log-agent", "kruise.local/demo:v2")
	e.upgraded(e.namespace+"-log-agent", 3)
}

// A change of more than images is not applied to running Pods, and a condition of the Pods says so.
// Case sidecarset 15.
func TestPodsThatCannotBeUpgradedSaySo(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	name := e.sidecarSet("immutable", agentSpec)
	e.apply(manifest("immutable", "replicas: 3", "replicas: 1"))
	e.ready("immutable", 1)
	e.upgraded(name, 1)
	e.kubectl("patch", "sidecarset", name, "--type=json", "-p",
		`[{"op":"add","path":"/spec/containers/0/env","value":[{"name":"A","value":"1"}]}]`)
	e.eventually("the Pod has the condition", func(c *require.Assertions, _ context.Context) {
		pods := e.pods("immutable")
		c.Len(pods, 1)
		for _, condition := range pods[0].Status.Conditions {
			if condition.Type == "SidecarSetUpgradable" {
				c.Equal("False UpdateImmutableField", string(condition.Status)+" "+condition.Reason)
				return
			}
		}
		c.Fail("no condition")
	})
	e.said("NotUpgradablePods", name, "-A")
}

// sidecarsDown follows the Pods with a label until stop is called. It returns the largest number of Pods that had the newest hash while
// their sidecar did not run the newest image, or was not ready.
func (e *env) sidecarsDown(label, name, container string) (stop func() int) {
	e.t.Helper()
	set := func(ctx context.Context) *v1beta1.SidecarSet {
		stored, err := e.kruise.AppsV1beta1().SidecarSets().Get(ctx, name, metav1.GetOptions{})
		require.NoError(e.t, err)
		return stored
	}
	newest := set(e.t.Context())
	ctx, cancel := context.WithCancel(e.t.Context())
	events, err := e.core.CoreV1().Pods(e.namespace).Watch(ctx, metav1.ListOptions{LabelSelector: label})
	require.NoError(e.t, err)
	most, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		down := map[string]bool{}
		for event := range events.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			if sidecar.Updated(newest, pod) && (!sidecar.ContainerReady(pod, container) || !sidecar.Consistent(pod, []string{container})) {
				down[pod.Name] = true
			} else {
				delete(down, pod.Name)
			}
			most = max(most, len(down))
		}
	}()
	return func() int {
		select {
		case <-done:
			assert.Fail(e.t, "the watch ended early, so not all changes of the Pods were seen")
		default:
		}
		cancel()
		<-done
		return most
	}
}

// A watcher never sees more sidecars down than maxUnavailable allows. While the CloneSet of the Pods also rolls out, the sidecars of
// Pods that are not ready can be updated in addition, because such Pods do not count.
// Case sidecarset 11.
func TestSidecarsKeepTheirBoundDuringARollout(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	name := e.sidecarSet("bound", strings.Replace(agentSpec, "maxUnavailable: 1", "maxUnavailable: 2", 1))
	e.apply(manifest("bound", "replicas: 3", "replicas: 9", "maxUnavailable: 1", "maxUnavailable: 3"))
	e.ready("bound", 9)
	e.upgraded(name, 9)
	e.sidecarImage(name, "kruise.local/demo:v2")
	stop := e.sidecarsDown("app=bound", name, "agent")
	e.upgraded(name, 9)
	alone := stop()
	assert.LessOrEqual(t, alone, 2)
	assert.Positive(t, alone, "the watcher has seen the upgrade")

	e.sidecarImage(name, "kruise.local/demo:v1")
	stop = e.sidecarsDown("app=bound", name, "agent")
	e.image("bound", "kruise.local/demo:v2")
	e.ready("bound", 9)
	e.upgraded(name, 9)
	most := stop()
	assert.LessOrEqual(t, most, 2+3)
	assert.Positive(t, most, "the watcher has seen the upgrade")
}

// podsOfAnOutageAreCounted checks that new Pods are created without their sidecars meanwhile, and no slower than the timeout of the
// apiserver. Afterwards the status of the SidecarSet counts them, and an event names them, until they are replaced.
func podsOfAnOutageAreCounted(t *testing.T, o *outage) {
	e := newEnv(t)
	name := e.sidecarSet("lacks", agentSpec)
	e.kubectl("create", "deployment", "lacks", "--image=kruise.local/demo:v1", "--replicas=2")
	e.eventually("the Pods are injected", func(c *require.Assertions, _ context.Context) {
		pods := e.pods("lacks")
		c.Len(pods, 2)
		for i := range pods {
			c.Len(pods[i].Spec.Containers, 2)
		}
	})
	o.begin(t)
	began := time.Now()
	e.kubectl("run", "lacks", "--image=kruise.local/demo:v1", "--labels=app=lacks", "--image-pull-policy=IfNotPresent")
	t.Logf("a Pod was created after %s while the apiserver was down", time.Since(began).Round(10*time.Millisecond))
	alone, err := e.core.CoreV1().Pods(e.namespace).Get(t.Context(), "lacks", metav1.GetOptions{})
	require.NoError(t, err)
	require.Len(t, alone.Spec.Containers, 1, "nobody has injected containers")
	o.end(t)
	uninjected := func(want int32) {
		e.eventually("the status counts the Pods", func(c *require.Assertions, ctx context.Context) {
			set, err := e.kruise.AppsV1beta1().SidecarSets().Get(ctx, name, metav1.GetOptions{})
			c.NoError(err)
			c.Equal(want, set.Status.UninjectedPods)
		})
	}
	uninjected(1)
	e.said("PodsNotInjected,involvedObject.name="+name, e.namespace+"/lacks", "-A")
	e.kubectl("delete", "pod", "lacks")
	uninjected(0)
}
