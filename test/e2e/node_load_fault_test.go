//go:build e2e && fault

package e2e

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kruise.io/kruise/pkg/workload/podstate"
)

const (
	// mostResident is the most memory that an agent may have resident, whatever runs on its node.
	mostResident = 64 << 20
	// mostLate is which part of the probes may begin late beyond three times that of plain timers, which shows how busy the machine is. The
	// timers are late less often, because the agent shares its part of the processors with the whole cluster.
	mostLate = 0.01
	// mostAbovePlain is how much more processor time the agent may need for a probe than Go's own clients. It also lists containers, runs
	// commands and judges results.
	mostAbovePlain = 3
)

// onNode is a CloneSet on one node. Each of its Pods has one container.
func onNode(name, node string, pods int) string {
	return manifest(name, "replicas: 3", sprintf("replicas: %d", pods), "cpu: 10m", "cpu: 1m", "memory: 16Mi", "memory: 4Mi",
		"    spec:\n      terminationGracePeriodSeconds: 5", "    spec:\n      nodeSelector: {kubernetes.io/hostname: "+node+"}\n      terminationGracePeriodSeconds: 5")
}

// grow creates the Pods of a CloneSet on one node, and waits until they are ready.
func (e *env) grow(name, node string, pods int) {
	e.t.Helper()
	e.apply(onNode(name, node, pods))
	e.allReady(name, pods)
}

// threeProbes is a PodProbeMarker with a request and a connection each second, and a command in each period.
func threeProbes(app string, period int) string {
	return filled(`apiVersion: apps.kruise.io/v1alpha1
kind: PodProbeMarker
metadata: {name: APP}
spec:
  selector: {matchLabels: {app: APP}}
  probes:
  - {name: exec, containerName: main, podConditionType: e2e/exec, probe: {periodSeconds: PERIOD, timeoutSeconds: 10, exec: {command: [/demo, sleep, "0"]}}}
  - {name: http, containerName: main, podConditionType: e2e/http, probe: {periodSeconds: 1, timeoutSeconds: 10, httpGet: {path: /, port: 8080}}}
  - {name: tcp, containerName: main, podConditionType: e2e/tcp, probe: {periodSeconds: 1, timeoutSeconds: 10, tcpSocket: {port: 8080}}}
`, "APP", app, "PERIOD", strconv.Itoa(period))
}

// TestProbesOfAFullNode runs three probes for each of the 110 Pods that a node has by default: a request and a connection each second,
// and a command every 20 s. The runtime and the kernel need about 70 ms of a processor for each command, so that commands every 5 s
// occupy two processors, and everything on the machine is late. NODE_LOAD_PODS and NODE_LOAD_COMMAND_SECONDS set other numbers. While
// no result changes, the agent writes nothing. It needs at most mostAbovePlain times the processor time of Go's own clients. At most one
// probe in a hundred begins late beyond three times those of as many plain timers at the same time.
func TestProbesOfAFullNode(t *testing.T) {
	e := newEnv(t)
	pods := sizeOf(t, "NODE_LOAD_PODS", 110)
	seconds, period := sizeOf(t, "NODE_LOAD_SECONDS", 60), sizeOf(t, "NODE_LOAD_COMMAND_SECONDS", 20)
	node := e.realNodes()[0]
	began := time.Now()
	e.grow("web", node.Name, pods)
	t.Logf("%d Pods on %s are ready after %v", pods, node.Name, time.Since(began).Round(time.Second))
	length := time.Duration(seconds) * time.Second
	e.writesEnd(&node)
	quiet := e.during(&node, length/2)
	t.Logf("without probes: %s", quiet.report(length/2))

	e.apply(threeProbes("web", period))
	e.eventually("all Pods are marked", func(c *require.Assertions, _ context.Context) {
		for _, pod := range e.pods("web") {
			for _, kind := range []corev1.PodConditionType{"e2e/exec", "e2e/http", "e2e/tcp"} {
				c.Contains(resultOf(&pod, kind), "True", "%s: %s", pod.Name, kind)
			}
		}
	})
	e.writesEnd(&node)
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	timers := lateTimers(ctx, 3*pods)
	used := e.during(&node, length)
	lateness := timers()
	t.Logf("with probes: %s; %.2f %% of plain timers late", used.report(length), 100*lateness)

	assert.Zero(t, used.writes, "nothing changes")
	assert.Less(t, used.resident, float64(mostResident))
	assert.GreaterOrEqual(t, used.probes, 0.9*float64(pods*seconds)*(2+1/float64(period)), "probes that ran")
	assert.LessOrEqual(t, used.late/used.probes, 3*lateness+mostLate, "late probes")
	for _, pod := range e.pods("web") {
		assert.Zero(t, pod.Status.ContainerStatuses[0].RestartCount)
	}
	e.kubectl("delete", "podprobemarker", "web", "--wait")
	plain := e.plainProbes(e.pods("web"), length/2)
	t.Logf("the agent needs %.2f ms for each probe, and Go's own clients %.2f ms", 1000*used.agentCPU/used.probes, 1000*plain)
	assert.LessOrEqual(t, used.agentCPU/used.probes, mostAbovePlain*plain, "processor time of the agent for each probe")
}

// writesEnd waits until the agent has sent its events and reports, which are limited in their rate. It fails if the agent never stops.
func (e *env) writesEnd(node *corev1.Node) {
	e.t.Helper()
	e.eventually("the agent writes nothing for 10 seconds", func(c *require.Assertions, _ context.Context) {
		c.Zero(e.during(node, 10*time.Second).writes)
	})
}

// orderedPod has five containers that start in order. Each is ready a second after it has started.
func orderedPod(app string, replicas int) string {
	text := sprintf(`apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata:
      labels: {app: %[1]s}
      annotations: {apps.kruise.io/container-launch-priority: Ordered}
    spec:
      terminationGracePeriodSeconds: 2
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: type, operator: NotIn, values: [kwok]}]}]}}}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: %[1]s}}}
      containers:
`, app, replicas)
	for i := range orderedContainers {
		text += sprintf(`      - name: c%d
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        env: [{name: ADDRESS, value: ":%d"}]
        lifecycle: {postStart: {sleep: {seconds: 1}}}
`, i, 8080+i)
	}
	return text
}

const (
	orderedContainers = 5
	// postStart is how long each of them takes to be ready.
	postStart = time.Second
)

// TestContainersOfManyPodsStartInOrder starts 500 Pods of five ordered containers on the real nodes, in batches of 60. NODE_LOAD_PODS
// and NODE_LOAD_BATCH set other numbers. The runtimes say when containers were started: none before the one above it was ready.
func TestContainersOfManyPodsStartInOrder(t *testing.T) {
	e := newEnv(t)
	pods, batch := sizeOf(t, "NODE_LOAD_PODS", 500), sizeOf(t, "NODE_LOAD_BATCH", 60)
	nodes := e.realNodes()
	var gaps []time.Duration
	on := map[string]int{}
	for number := 0; pods > 0; number++ {
		size := min(batch, pods)
		pods -= size
		name := sprintf("batch-%d", number)
		e.apply(orderedPod(name, size))
		e.allReady(name, size)
		for _, pod := range e.pods(name) {
			on[pod.Spec.NodeName]++
		}
		seen := 0
		for i := range nodes {
			for uid, containers := range e.containersOn(&nodes[i]) {
				if len(containers) == 0 || !strings.HasPrefix(containers[0].Labels["io.kubernetes.pod.name"], name+"-") {
					continue
				}
				seen++
				gaps = append(gaps, gapsOf(t, uid, containers)...)
			}
		}
		assert.Equal(t, size, seen, "Pods that the runtimes have")
		e.kubectl("delete", "cloneset", name, "--cascade=foreground", "--wait")
	}
	slices.Sort(gaps)
	t.Logf("Pods by node: %v; from a container to the next: %v at least, %v in the middle, %v at most", on, gaps[0], gaps[len(gaps)/2], gaps[len(gaps)-1])
	assert.Len(t, on, len(nodes), "every node has some")
	e.eventually("the ConfigMaps go with their Pods", func(c *require.Assertions, ctx context.Context) {
		maps, err := e.core.CoreV1().ConfigMaps(e.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Len(maps.Items, 1, "the one that every namespace has")
	})
}

// gapsOf returns the times from the start of each container of a Pod to that of the next one.
func gapsOf(t *testing.T, uid string, containers []*runtimeapi.ContainerStatus) (gaps []time.Duration) {
	t.Helper()
	starts := map[string]int64{}
	for _, container := range containers {
		name := container.Metadata.Name
		assert.Zero(t, starts[name], "%s: %s was started twice", uid, name)
		starts[name] = container.StartedAt
	}
	if !assert.Len(t, starts, orderedContainers, uid) {
		return nil
	}
	for i := range orderedContainers - 1 {
		gap := time.Duration(starts[sprintf("c%d", i+1)] - starts[sprintf("c%d", i)])
		assert.GreaterOrEqual(t, gap, postStart, "%s: c%d was started before c%d was ready", uid, i+1, i)
		gaps = append(gaps, gap)
	}
	return gaps
}

// allReady waits until all Pods of an app are ready, as long as there is progress.
func (e *env) allReady(app string, pods int) {
	e.t.Helper()
	last, at := -1, time.Now()
	for {
		done, ready := 0, 0
		for _, pod := range e.pods(app) {
			for i := range pod.Status.ContainerStatuses {
				if pod.Status.ContainerStatuses[i].Ready {
					done++
				}
			}
			if podstate.Ready(&pod) {
				ready++
			}
		}
		if ready == pods {
			return
		}
		done += ready
		if done > last {
			last, at = done, time.Now()
		}
		require.Less(e.t, time.Since(at), patience, "%d containers and Pods of %s are ready, and no more", done, app)
		<-time.After(time.Second)
	}
}

// TestSidecarsOfManyJobsEndSoon runs 200 Jobs with two sidecars each, 30 at once. NODE_LOAD_PODS and NODE_LOAD_BATCH set other numbers.
// The sidecars end in at most twice the time that the Pods need to start. Then nothing is left of what ended them.
func TestSidecarsOfManyJobsEndSoon(t *testing.T) {
	e := newEnv(t)
	jobs, batch := sizeOf(t, "NODE_LOAD_PODS", 200), sizeOf(t, "NODE_LOAD_BATCH", 30)
	names, places := make(chan string), make(chan struct{}, batch)
	go func() {
		defer close(names)
		for i := range jobs {
			places <- struct{}{}
			names <- sprintf("job%d", i)
		}
	}()
	var group sync.WaitGroup
	var lock sync.Mutex
	var starts, after []time.Duration
	slowest, job := time.Duration(0), ""
	for name := range names {
		e.apply(jobOf(name, "backoffLimit: 0", podOfJob("Never", endsItself, sidecarOf("one", 8081, staysUp), sidecarOf("two", 8082, staysUp))))
		group.Go(func() {
			defer func() { <-places }()
			start, ends := e.sidecarsEnd(name)
			lock.Lock()
			defer lock.Unlock()
			starts, after = append(starts, start), append(after, ends...)
			if last := slices.Max(ends); last > slowest {
				slowest, job = last, name
			}
		})
	}
	group.Wait()
	require.Len(t, after, 2*jobs)
	slices.Sort(after)
	t.Logf("sidecars of %d Jobs ended after their main containers: %v in the middle, 99 %% within %v, all within %v; Pods started in %v, all in %v",
		jobs, after[len(after)/2], after[len(after)*99/100], after[len(after)-1], median(starts), slices.Max(starts))
	e.history(e.pods(job)[0].Name)
	assert.LessOrEqual(t, median(after), 2*median(starts), "on the same busy nodes, sidecars end about as soon as Pods start")
	e.eventually("no request is left", func(c *require.Assertions, _ context.Context) { c.Empty(e.requests()) })
	maps, err := e.core.CoreV1().ConfigMaps(e.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, maps.Items, 1, "the one that every namespace has")
	pods, err := e.core.CoreV1().Pods(e.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, pods.Items, jobs, "one Pod for each Job")
	for i := range pods.Items {
		assert.Empty(t, slices.DeleteFunc(pods.Items[i].Finalizers, func(f string) bool { return !strings.Contains(f, "kruise") }))
	}
}

// history logs the events of a Pod with their times, and its status.
func (e *env) history(pod string) {
	e.t.Helper()
	e.t.Logf("events of %s:\n%s", pod, e.kubectl("get", "events", "--field-selector", "involvedObject.name="+pod, "--sort-by=.metadata.creationTimestamp",
		"-o", `custom-columns=FIRST:.firstTimestamp,LAST:.lastTimestamp,COUNT:.count,REASON:.reason,MESSAGE:.message`))
	e.t.Logf("its containers: %s", e.kubectl("get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[*].state}"))
}

// sidecarsEnd waits until a Job is complete. It returns the time from the creation of its Pod to the start of the last container, and how
// long its sidecars outlived its main container.
func (e *env) sidecarsEnd(name string) (start time.Duration, after []time.Duration) {
	e.t.Helper()
	e.jobEnds(name, batchv1.JobComplete)
	pods := e.pods(name)
	if !assert.Len(e.t, pods, 1) {
		return 0, nil
	}
	assert.Equal(e.t, corev1.PodSucceeded, pods[0].Status.Phase)
	main := endOf(e.t, &pods[0], "main").FinishedAt
	for _, sidecar := range []string{"one", "two"} {
		end := endOf(e.t, &pods[0], sidecar)
		assert.Zero(e.t, end.ExitCode)
		start = max(start, end.StartedAt.Sub(pods[0].CreationTimestamp.Time))
		after = append(after, end.FinishedAt.Sub(main.Time))
	}
	return start, after
}
