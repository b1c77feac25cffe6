package podprober

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
	"kruise.io/kruise/pkg/nodeagent/cluster/clustertest"
	"kruise.io/kruise/pkg/nodeagent/cri"
	"kruise.io/kruise/pkg/nodeagent/cri/critest"
	"kruise.io/kruise/pkg/nodeagent/kubelet"
)

// BenchmarkFullNode runs 110 Pods with 3 probes each, every second, against a runtime on a socket whose commands take 20 ms.
// One iteration is a second. late-p99-ms is by how much a probe is late on the grid of its period. timer-p99-ms is the same for timers
// that do nothing: on a busy machine, the difference is what the agent adds. cpu-ms/s is the CPU time of this process, which includes
// the runtime.
func BenchmarkFullNode(b *testing.B) {
	const pods, each, takes = 110, 3, 20 * time.Millisecond
	dir, err := os.MkdirTemp("", "run") //nolint:usetesting // A socket's path has at most 107 bytes.
	require.NoError(b, err)
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "containerd.sock")
	server := critest.Start(b, socket, "containerd", "2.1.0")
	object := &v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: node, UID: "uid-1"}}
	for i := range pods {
		name := fmt.Sprint("web-", i)
		var probes []v1alpha1.ContainerProbe
		for j := range each {
			p := command(fmt.Sprint("m#", j), "check")
			p.Probe.Exec.Command = []string{name, fmt.Sprint(j)}
			probes = append(probes, p)
		}
		object.Spec.PodProbes = append(object.Spec.PodProbes, entry(name, probes...))
		server.Add(&runtimeapi.Container{
			Id: name, State: runtimeapi.ContainerState_CONTAINER_RUNNING, CreatedAt: 1,
			Labels: map[string]string{kubelet.PodUIDLabel: "uid-" + name, kubelet.ContainerNameLabel: "main"},
		})
	}
	var mu sync.Mutex
	ran := map[string][]time.Time{}
	server.OnExec(func(_ context.Context, r *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
		mu.Lock()
		key := fmt.Sprint(r.GetCmd())
		ran[key] = append(ran[key], time.Now())
		mu.Unlock()
		<-time.After(takes)
		return &runtimeapi.ExecSyncResponse{Stdout: []byte("fine")}, nil
	})
	runtimes, err := cri.Detect(b.Context(), []string{socket})
	require.NoError(b, err)
	defer func() { _ = runtimes.Close(context.WithoutCancel(b.Context())) }()
	client := fake.NewClientset(object)
	c, err := New(Config{
		Node: node, Client: clustertest.New(nil, client), Runtimes: []Runtime{runtimes[0].Containers}, Recorder: discard{},
		Clock: clock.RealClock{},
	})
	require.NoError(b, err)
	stop := agenttest.Run(b.Context(), c.Run)
	<-time.After(3 * time.Second)
	mu.Lock()
	clear(ran)
	mu.Unlock()
	timers := make(chan []time.Duration, 1)
	go func() { timers <- timersAlone(pods, b.N) }()
	b.ResetTimer()
	cpu := cpuTime(b)
	for range b.N {
		<-time.After(time.Second)
	}
	used := cpuTime(b) - cpu
	b.StopTimer()
	stop()
	mu.Lock()
	defer mu.Unlock()
	late := lateness(ran, time.Second)
	require.Len(b, ran, pods*each)
	b.ReportMetric(float64(len(late))/float64(b.N), "probes/s")
	b.ReportMetric(float64(late[len(late)*99/100])/1e6, "late-p99-ms")
	alone := <-timers
	b.ReportMetric(float64(alone[len(alone)*99/100])/1e6, "timer-p99-ms")
	b.ReportMetric(float64(used)/1e6/float64(b.N), "cpu-ms/s")
}

// timersAlone returns by how much timers with a period of a second are late.
func timersAlone(n, seconds int) []time.Duration {
	ran := map[string][]time.Time{}
	var mu sync.Mutex
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-time.After(time.Duration(i) * time.Second / time.Duration(n))
			ticker := time.NewTicker(time.Second)
			defer ticker.Stop()
			for range seconds {
				<-ticker.C
				mu.Lock()
				ran[fmt.Sprint(i)] = append(ran[fmt.Sprint(i)], time.Now())
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return lateness(ran, time.Second)
}

// lateness returns by how much each run was later than a whole number of periods after the most punctual run of its probe.
func lateness(ran map[string][]time.Time, period time.Duration) (late []time.Duration) {
	for _, times := range ran {
		var offsets []time.Duration
		for i, at := range times {
			offsets = append(offsets, at.Sub(times[0])-time.Duration(i)*period)
		}
		least := slices.Min(offsets)
		for _, offset := range offsets {
			late = append(late, offset-least)
		}
	}
	slices.Sort(late)
	return late
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// discard records no events.
type discard struct{ record.EventRecorder }

// Event implements record.EventRecorder.
func (discard) Event(runtime.Object, string, string, string) {}
