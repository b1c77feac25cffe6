package containerreporter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
	"kruise.io/kruise/pkg/nodeagent/cluster/clustertest"
	"kruise.io/kruise/pkg/nodeagent/kubelet"
)

// fakeRuntime is an in-memory container runtime.
type fakeRuntime struct {
	mu         sync.Mutex
	containers []*runtimeapi.Container
	// env holds the environment that each instance was started with. details makes the runtime report it.
	env     map[string]map[string]string
	details bool
	// failExecs is how many more ExecSync calls fail.
	failExecs int
	calls     []string
}

func (r *fakeRuntime) call(format string, args ...any) {
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
}

func (r *fakeRuntime) called(prefix string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, call := range r.calls {
		if strings.HasPrefix(call, prefix) {
			n++
		}
	}
	return n
}

// start makes the given instance the newest one of a container.
func (r *fakeRuntime) start(pod, name, id string, hash uint64, restarts int, env map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.containers = append(r.containers, &runtimeapi.Container{
		Id: id, State: runtimeapi.ContainerState_CONTAINER_RUNNING, CreatedAt: int64(len(r.containers)),
		Labels: map[string]string{kubelet.PodUIDLabel: pod, kubelet.ContainerNameLabel: name},
		Annotations: map[string]string{
			kubelet.HashKey: fmt.Sprintf("%x", hash), kubelet.RestartCountKey: fmt.Sprint(restarts),
			"io.kubernetes.pod.terminationGracePeriod":   "30",
			"io.kubernetes.container.preStopHandler":     `{"exec":{"command":["bye"]}}`,
			"io.kubernetes.container.terminationMessage": "",
		},
	})
	r.env[id] = env
}

func (r *fakeRuntime) find(id string) *runtimeapi.Container {
	for _, c := range r.containers {
		if c.Id == id {
			return c
		}
	}
	return nil
}

func (r *fakeRuntime) ListContainers(_ context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.call("list %s", filter.LabelSelector[kubelet.PodUIDLabel])
	var found []*runtimeapi.Container
	for _, c := range r.containers {
		if c.Labels[kubelet.PodUIDLabel] == filter.LabelSelector[kubelet.PodUIDLabel] {
			found = append(found, c)
		}
	}
	return found, nil
}

func (r *fakeRuntime) ContainerStatus(_ context.Context, id string, verbose bool) (*runtimeapi.ContainerStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.find(id)
	if c == nil {
		return nil, status.Error(codes.NotFound, id)
	}
	response := &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Id: id, State: c.State, Annotations: c.Annotations}}
	if verbose && r.details {
		lines := r.lines(id)
		info, err := json.Marshal(map[string]any{"runtimeSpec": map[string]any{"process": map[string]any{"env": lines}}})
		if err != nil {
			return nil, err
		}
		response.Info = map[string]string{"info": string(info)}
	}
	return response, nil
}

func (r *fakeRuntime) lines(id string) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(r.env[id])) {
		lines = append(lines, name+"="+r.env[id][name])
	}
	return lines
}

func (r *fakeRuntime) ExecSync(_ context.Context, id string, cmd []string, _ time.Duration) (stdout, stderr []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.call("exec %s %s", cmd[0], id)
	if cmd[0] == "env" && r.failExecs > 0 {
		r.failExecs--
		return nil, nil, errors.New("no such file")
	}
	return []byte(strings.Join(r.lines(id), "\n") + "\n"), nil, nil
}

func (r *fakeRuntime) StopContainer(ctx context.Context, id string, timeout int64) error {
	if strings.HasPrefix(id, "slow") {
		<-ctx.Done()
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.call("stop %s %d", id, timeout)
	if c := r.find(id); c != nil {
		c.State = runtimeapi.ContainerState_CONTAINER_EXITED
	}
	return nil
}

// world is one node and its agent, in virtual time.
type world struct {
	t       *testing.T
	client  *fake.Clientset
	runtime *fakeRuntime
	events  *record.FakeRecorder
}

// inWorld runs a test in virtual time, with a node that has the given Pods and no agent yet.
func inWorld(t *testing.T, test func(w *world), pods ...*corev1.Pod) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t: t, client: fake.NewClientset(), runtime: &fakeRuntime{env: map[string]map[string]string{}, details: true},
			events: record.NewFakeRecorder(100),
		}
		for _, pod := range pods {
			require.NoError(t, w.client.Tracker().Add(pod))
		}
		test(w)
	})
}

// start runs an agent until the end of the test, and waits until it is idle.
func (w *world) start() {
	w.t.Helper()
	c, err := New(Config{
		Node: "node", Client: clustertest.New(w.client, nil), Environment: true, Recorder: w.events, Clock: clock.RealClock{},
		Runtime: func(name string) Runtime {
			if name == "test" {
				return w.runtime
			}
			return nil
		},
	})
	require.NoError(w.t, err)
	w.t.Cleanup(agenttest.Run(w.t.Context(), c.Run))
	agenttest.Pass(time.Second)
	require.True(w.t, c.Synced())
}

// settles is more time than any retry or delay of the agent takes in these tests.
const settles = time.Minute

// patches returns how many times the agent wrote.
func (w *world) patches() (n int) {
	for _, action := range w.client.Actions() {
		if action.GetVerb() == "patch" {
			n++
		}
	}
	return n
}

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	pod, err := w.client.CoreV1().Pods("ns").Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return pod
}

// change updates a Pod as another client would, and gives the agent a second.
func (w *world) change(name string, edit func(*corev1.Pod)) {
	w.t.Helper()
	pod := w.pod(name)
	edit(pod)
	require.NoError(w.t, w.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), pod, "ns"))
	agenttest.Pass(time.Second)
}

// entry returns the report entry of a container, or an empty one.
func (w *world) entry(pod, container string) containerreport.Container {
	w.t.Helper()
	report, err := containerreport.Read(w.pod(pod))
	require.NoError(w.t, err)
	return ptr.Deref(report.Find(container), containerreport.Container{})
}

// newPod returns a Pod of a CloneSet that has not started yet. Each container reads the label v.
func newPod(name string, containers ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ns", UID: "uid-" + "1", Labels: map[string]string{"v": "a"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web", Controller: new(true)}},
	}, Spec: corev1.PodSpec{NodeName: "node"}}
	for _, container := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: container, Image: "app:1", Env: []corev1.EnvVar{{
			Name: "V", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['v']"}},
		}}})
	}
	return pod
}

// runs sets the container ID in the status.
func runs(pod *corev1.Pod, container, id string) {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == container {
			s.ContainerID = "test://" + id
			return
		}
	}
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: container, ContainerID: "test://" + id})
}

func hold(pod *corev1.Pod, status corev1.ConditionStatus) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: pub.InPlaceUpdateReadyConditionType, Status: status}}
}
