package podprober

import (
	"context"
	"errors"
	"fmt"
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
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"
	utilexec "k8s.io/utils/exec"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
	"kruise.io/kruise/pkg/nodeagent/cluster/clustertest"
	"kruise.io/kruise/pkg/nodeagent/cri"
	"kruise.io/kruise/pkg/nodeagent/kubelet"
)

const node = "node-1"

// answer is what a command in a container does.
type answer func(ctx context.Context, timeout time.Duration) (stdout, stderr string, err error)

func succeeds(text string) answer {
	return func(context.Context, time.Duration) (stdout, stderr string, err error) { return text, "", nil }
}

func fails(text string) answer {
	return func(context.Context, time.Duration) (stdout, stderr string, err error) {
		return "", text, utilexec.CodeExitError{Err: errors.New("exit status 1"), Code: 1}
	}
}

// takes waits before it answers as another command does. A real runtime ends it at its timeout.
func takes(d time.Duration, then answer) answer {
	return func(ctx context.Context, timeout time.Duration) (stdout, stderr string, err error) {
		select {
		case <-ctx.Done():
			return "", "", ctx.Err()
		case <-time.After(min(d, timeout)):
		}
		if d > timeout {
			return "", "", cri.ErrTimedOut
		}
		return then(ctx, timeout)
	}
}

func breaks(context.Context, time.Duration) (stdout, stderr string, err error) {
	return "", "", status.Error(codes.Unavailable, "transport is closing")
}

// exec is one command that the runtime got.
type exec struct {
	id, command string
	at          time.Time
}

// fakeRuntime runs containers in memory.
type fakeRuntime struct {
	mu         sync.Mutex
	containers []*runtimeapi.Container
	started    map[string]time.Time
	// answers are the commands, by name. Others do not exist.
	answers map[string]answer
	execs   []exec
	lists   int
}

// start makes a new instance the newest one of a container.
func (r *fakeRuntime) start(pod, name, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started[id] = time.Now()
	r.containers = append(r.containers, &runtimeapi.Container{
		Id: id, State: runtimeapi.ContainerState_CONTAINER_RUNNING, CreatedAt: int64(len(r.containers)),
		Labels: map[string]string{kubelet.PodUIDLabel: pod, kubelet.ContainerNameLabel: name},
	})
}

// exit ends an instance.
func (r *fakeRuntime) exit(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.containers {
		if c.Id == id {
			c.State = runtimeapi.ContainerState_CONTAINER_EXITED
		}
	}
}

// does sets what a command does.
func (r *fakeRuntime) does(command string, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[command] = a
}

// ran returns the commands of an instance so far.
func (r *fakeRuntime) ran(id string) (times []time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.execs {
		if e.id == id {
			times = append(times, e.at)
		}
	}
	return times
}

func (r *fakeRuntime) ListContainers(_ context.Context, filter *runtimeapi.ContainerFilter) (found []*runtimeapi.Container, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lists++
	for _, c := range r.containers {
		if c.Labels[kubelet.PodUIDLabel] == filter.LabelSelector[kubelet.PodUIDLabel] {
			found = append(found, &runtimeapi.Container{Id: c.Id, State: c.State, CreatedAt: c.CreatedAt, Labels: c.Labels})
		}
	}
	return found, nil
}

func (r *fakeRuntime) ContainerStatus(_ context.Context, id string, _ bool) (*runtimeapi.ContainerStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Id: id, StartedAt: r.started[id].UnixNano()}}, nil
}

func (r *fakeRuntime) ExecSync(ctx context.Context, id string, cmd []string, timeout time.Duration) (stdout, stderr []byte, err error) {
	r.mu.Lock()
	r.execs = append(r.execs, exec{id, cmd[0], time.Now()})
	run := r.answers[cmd[0]]
	r.mu.Unlock()
	if run == nil {
		return nil, []byte("not found"), utilexec.CodeExitError{Err: errors.New("exit status 127"), Code: 127}
	}
	out, text, err := run(ctx, timeout)
	return []byte(out), []byte(text), err
}

// world is an agent with its runtime and its API, in virtual time.
type world struct {
	t       *testing.T
	client  *fake.Clientset
	runtime *fakeRuntime
	events  *record.FakeRecorder
	stop    func()
}

// inWorld runs a test with a NodePodProbe that lists the given probes.
func inWorld(t *testing.T, test func(w *world), entries ...v1alpha1.PodProbe) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		object := &v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: node, UID: "uid-1"}}
		object.Spec.PodProbes = entries
		w := &world{
			t: t, client: fake.NewClientset(object), events: record.NewFakeRecorder(10000), stop: func() {},
			runtime: &fakeRuntime{started: map[string]time.Time{}, answers: map[string]answer{}},
		}
		defer func() { w.stop() }()
		test(w)
	})
}

// begin runs the agent until stop.
func (w *world) begin() {
	w.t.Helper()
	c, err := New(Config{
		Node: node, Client: clustertest.New(nil, w.client), Runtimes: []Runtime{&fakeRuntime{}, w.runtime}, Recorder: w.events,
		Clock: clock.RealClock{},
	})
	require.NoError(w.t, err)
	w.stop = agenttest.Run(w.t.Context(), c.Run)
}

// get returns the stored NodePodProbe.
func (w *world) get() *v1alpha1.NodePodProbe {
	w.t.Helper()
	object, err := w.client.AppsV1alpha1().NodePodProbes().Get(w.t.Context(), node, metav1.GetOptions{})
	require.NoError(w.t, err)
	return object
}

// change edits the spec as the controllers do.
func (w *world) change(edit func(*v1alpha1.NodePodProbe)) {
	w.t.Helper()
	object := w.get()
	edit(object)
	_, err := w.client.AppsV1alpha1().NodePodProbes().Update(w.t.Context(), object, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// state returns the published state of a probe.
func (w *world) state(pod, name string) (found v1alpha1.ContainerProbeState) {
	w.t.Helper()
	for _, entry := range w.get().Status.PodProbeStatuses {
		for _, state := range entry.ProbeStates {
			if entry.Name == pod && state.Name == name {
				found = state
			}
		}
	}
	return found
}

// shows returns the published states as "<probe> <state> <message>".
func (w *world) shows() (lines []string) {
	w.t.Helper()
	for _, entry := range w.get().Status.PodProbeStatuses {
		for _, s := range entry.ProbeStates {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", s.Name, s.State, s.Message)))
		}
	}
	return lines
}

// writes returns how many times the status was written.
func (w *world) writes() (n int) {
	for _, action := range w.client.Actions() {
		if action.GetVerb() == "patch" {
			n++
		}
	}
	return n
}

// told returns the events since the last call.
func (w *world) told() (events []string) {
	for {
		select {
		case event := <-w.events.Events:
			events = append(events, event)
		default:
			slices.Sort(events)
			return events
		}
	}
}

// entry returns the entry of a Pod whose UID is its name with the prefix uid-.
func entry(pod string, probes ...v1alpha1.ContainerProbe) v1alpha1.PodProbe {
	return v1alpha1.PodProbe{Namespace: "ns", Name: pod, UID: "uid-" + pod, IP: "127.0.0.1", Probes: probes}
}

// command returns a probe that runs a command in the container main.
func command(name, cmd string, edits ...func(*v1alpha1.ContainerProbe)) v1alpha1.ContainerProbe {
	p := v1alpha1.ContainerProbe{Name: name, ContainerName: "main"}
	p.Probe.Exec = &corev1.ExecAction{Command: []string{cmd}}
	for _, edit := range edits {
		edit(&p)
	}
	return p
}

func period(n int32) func(*v1alpha1.ContainerProbe) {
	return func(p *v1alpha1.ContainerProbe) { p.Probe.PeriodSeconds = n }
}
