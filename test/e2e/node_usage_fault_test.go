//go:build e2e && fault

package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	remote "k8s.io/cri-client/pkg"

	"kruise.io/kruise/hack/localcluster"
	"kruise.io/kruise/test/hostcontroller"
)

// clockTicks is the unit of the processor time in /proc, per second.
const clockTicks = 100

// sizeOf returns a number from the environment, so that a test can be tried with fewer Pods.
func sizeOf(t *testing.T, variable string, standard int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return standard
	}
	size, err := strconv.Atoi(text)
	require.NoError(t, err, variable)
	require.Positive(t, size, variable)
	return size
}

// realNodes returns the nodes with a kubelet.
func (e *env) realNodes() []corev1.Node {
	e.t.Helper()
	list, err := e.core.CoreV1().Nodes().List(e.t.Context(), metav1.ListOptions{LabelSelector: "type!=kwok"})
	require.NoError(e.t, err)
	require.NotEmpty(e.t, list.Items)
	return list.Items
}

// usage is what the programs of a node have used so far.
type usage struct {
	at time.Time
	// agentCPU, runtimeCPU and kubeletCPU are processor times in seconds.
	agentCPU, runtimeCPU, kubeletCPU float64
	// resident is the agent's resident memory in bytes.
	resident float64
	// writes are the agent's requests that write, and probes and late the probes that it began, and began late.
	writes, probes, late float64
}

// usageOf reads the metrics of a node's agent, and the processor time of its runtime and its kubelet.
func (e *env) usageOf(node *corev1.Node) usage {
	e.t.Helper()
	var address string
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			address = a.Address
		}
	}
	request, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, "http://"+address+":10221/metrics", http.NoBody)
	require.NoError(e.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(e.t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(e.t, err)
	require.NoError(e.t, response.Body.Close())
	metrics := hostcontroller.Metrics(text)
	u := usage{
		at: time.Now(), agentCPU: metrics.Sum("process_cpu_seconds_total"), resident: metrics.Sum("process_resident_memory_bytes"),
		probes: metrics.Sum("kruise_node_agent_probe_total"), late: metrics.Sum("kruise_node_agent_probe_late_total"),
	}
	require.Positive(e.t, u.resident, "the agent's metrics")
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		u.writes += metrics.Sum("rest_client_requests_total", `method="`+method+`"`)
	}
	cluster, number := mainCluster(e.t), nodeOf(e.t, &corev1.Pod{Spec: corev1.PodSpec{NodeName: node.Name}})
	u.runtimeCPU = cpuOf(e.t, cluster, localcluster.ContainerdComponent(number))
	u.kubeletCPU = cpuOf(e.t, cluster, localcluster.KubeletComponent(number))
	return u
}

func mainCluster(t *testing.T) *localcluster.Cluster {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, err := localcluster.New(localcluster.MainConfig(root))
	require.NoError(t, err)
	return cluster
}

// cpuOf returns the processor time that a component of the cluster has used, in seconds. Fields 14 and 15 of /proc/<pid>/stat are
// the times in user and in kernel mode, see proc(5).
func cpuOf(t *testing.T, cluster *localcluster.Cluster, component string) float64 {
	t.Helper()
	pid, err := cluster.ComponentPID(component)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	require.NoError(t, err)
	fields := strings.Fields(string(text[slices.Index(text, ')')+1:]))
	var ticks float64
	for _, field := range fields[11:13] {
		number, err := strconv.ParseFloat(field, 64)
		require.NoError(t, err)
		ticks += number
	}
	return ticks / clockTicks
}

// since returns what was used between two readings. The memory is that of the later one.
func (u usage) since(before usage) usage {
	u.agentCPU -= before.agentCPU
	u.runtimeCPU -= before.runtimeCPU
	u.kubeletCPU -= before.kubeletCPU
	u.writes -= before.writes
	u.probes -= before.probes
	u.late -= before.late
	return u
}

// report describes what was used in a time.
func (u usage) report(d time.Duration) string {
	s := d.Seconds()
	return sprintf("agent %.1f ms of CPU a second, %.1f MiB resident, %.1f writes a minute, %.1f probes a second, %.0f late; "+
		"containerd %.0f and kubelet %.0f ms of CPU a second", 1000*u.agentCPU/s, u.resident/(1<<20), 60*u.writes/s, u.probes/s, u.late,
		1000*u.runtimeCPU/s, 1000*u.kubeletCPU/s)
}

// during returns what is used in a time from now on.
func (e *env) during(node *corev1.Node, d time.Duration) usage {
	e.t.Helper()
	before := e.usageOf(node)
	<-time.After(d)
	return e.usageOf(node).since(before)
}

// containersOn lists the containers of the test's namespace that the runtime of a node has or had, by Pod UID.
func (e *env) containersOn(node *corev1.Node) map[string][]*runtimeapi.ContainerStatus {
	e.t.Helper()
	cluster, number := mainCluster(e.t), nodeOf(e.t, &corev1.Pod{Spec: corev1.PodSpec{NodeName: node.Name}})
	pid, err := cluster.ComponentPID(localcluster.ContainerdComponent(number))
	require.NoError(e.t, err)
	ctx, endpoint := e.t.Context(), sprintf("unix:///proc/%d/root/run/containerd/containerd.sock", pid)
	runtime, err := remote.NewRemoteRuntimeService(ctx, endpoint, 10*time.Second, nil, false)
	require.NoError(e.t, err)
	defer func() { assert.NoError(e.t, runtime.Close(context.WithoutCancel(ctx))) }()
	containers, err := runtime.ListContainers(ctx, &runtimeapi.ContainerFilter{LabelSelector: map[string]string{
		"io.kubernetes.pod.namespace": e.namespace,
	}})
	require.NoError(e.t, err)
	found := map[string][]*runtimeapi.ContainerStatus{}
	for _, container := range containers {
		response, err := runtime.ContainerStatus(ctx, container.Id, false)
		if grpcstatus.Code(err) == codes.NotFound {
			continue // The kubelet has removed it since the list, with its Pod.
		}
		require.NoError(e.t, err)
		uid := container.Labels["io.kubernetes.pod.uid"]
		found[uid] = append(found[uid], response.Status)
	}
	return found
}

// lateTimers returns which part of plain timers with a period of a second began more than a tenth of it late, in the test's process.
func lateTimers(ctx context.Context, number int) func() float64 {
	var began, late = make(chan int, number), make(chan int, number)
	for i := range number {
		go func() {
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(i) * time.Second / time.Duration(number)):
			}
			due, runs, tardy := time.Now(), 0, 0
			for ctx.Err() == nil {
				due = due.Add(time.Second)
				select {
				case <-ctx.Done():
				case <-time.After(time.Until(due)):
					runs++
					if time.Since(due) > 100*time.Millisecond {
						tardy++
					}
				}
			}
			began <- runs
			late <- tardy
		}()
	}
	return func() float64 {
		runs, tardy := 0, 0
		for range number {
			runs, tardy = runs+<-began, tardy+<-late
		}
		return float64(tardy) / float64(max(runs, 1))
	}
}

// plainProbes sends a request to each Pod and opens a connection to it each second, with Go's own clients. It returns the processor time
// in seconds that this process needed for each of them.
func (e *env) plainProbes(pods []corev1.Pod, d time.Duration) float64 {
	e.t.Helper()
	ctx, stop := context.WithTimeout(e.t.Context(), d)
	defer stop()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(address string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, http.NoBody)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	connect := func(address string) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
	var group sync.WaitGroup
	var count atomic.Int64
	before, err := hostcontroller.CPU(os.Getpid())
	require.NoError(e.t, err)
	for i := range 2 * len(pods) {
		probe, address := []func(string) error{get, connect}[i%2], net.JoinHostPort(pods[i/2].Status.PodIP, "8080")
		group.Go(func() {
			for due := time.Now().Add(time.Duration(i) * time.Second / time.Duration(2*len(pods))); ; due = due.Add(time.Second) {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Until(due)):
				}
				if err := probe(address); ctx.Err() == nil && assert.NoError(e.t, err) {
					count.Add(1)
				}
			}
		})
	}
	group.Wait()
	after, err := hostcontroller.CPU(os.Getpid())
	require.NoError(e.t, err)
	require.Positive(e.t, count.Load())
	return (after - before) / float64(count.Load())
}

// median returns the middle one of some times.
func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}
