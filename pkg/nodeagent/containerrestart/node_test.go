package containerrestart

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/fake"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kruise.io/kruise/pkg/nodeagent/kubelet"
)

// node is an in-memory container runtime and kubelet. The Pod statuses are in the API.
type node struct {
	t    *testing.T
	kube *fake.Clientset

	mu         sync.Mutex
	containers []*runtimeapi.Container
	started    map[string]time.Time
	calls      []call
	// readyAfter is how long after its start a container becomes ready.
	readyAfter map[string]time.Duration
	// hook is how long an exec hook takes. hookErr is its result.
	hook    time.Duration
	hookErr error
	// stopErr is the error of StopContainer, by container name. onStop is called when a container is stopped.
	stopErr map[string]error
	onStop  func(id string)
	// noKubelet keeps stopped containers stopped.
	noKubelet bool
	// asked is how many states of containers were asked for.
	asked int
	// away makes every call to the runtime fail.
	away bool
}

// call is one runtime call and its time.
type call struct {
	text string
	at   time.Time
}

func newNode(t *testing.T, kube *fake.Clientset) *node {
	t.Helper()
	return &node{t: t, kube: kube, started: map[string]time.Time{}, readyAfter: map[string]time.Duration{}, stopErr: map[string]error{}}
}

func (n *node) note(format string, args ...any) {
	n.calls = append(n.calls, call{fmt.Sprintf(format, args...), time.Now()})
}

// made returns the times of the calls that start with text.
func (n *node) made(text string) (times []time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.calls {
		if strings.HasPrefix(c.text, text) {
			times = append(times, c.at)
		}
	}
	return times
}

// texts returns the calls that change something.
func (n *node) texts() (texts []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.calls {
		texts = append(texts, c.text)
	}
	return texts
}

// start starts the next instance of a container. The instances of app are a1, a2 and so on.
func (n *node) start(pod *corev1.Pod, name string, restarts int) {
	n.mu.Lock()
	id := fmt.Sprintf("%s%d", name[:1], restarts+1)
	if pod.Name != "p" {
		id = pod.Name + "-" + id
	}
	n.containers = append(n.containers, &runtimeapi.Container{
		Id: id, State: runtimeapi.ContainerState_CONTAINER_RUNNING, CreatedAt: time.Now().UnixNano(),
		Labels:      map[string]string{kubelet.PodUIDLabel: kubeletUID(pod), kubelet.PodNameLabel: pod.Name, kubelet.PodNamespaceLabel: pod.Namespace, kubelet.ContainerNameLabel: name},
		Annotations: map[string]string{kubelet.RestartCountKey: strconv.Itoa(restarts)},
	})
	n.started[id] = time.Now()
	ready := n.readyAfter[name]
	n.mu.Unlock()
	n.says(pod, name, id, restarts, false)
	time.AfterFunc(ready, func() {
		if n.running(id) {
			n.says(pod, name, id, restarts, true)
		}
	})
}

// set changes the state of an instance.
func (n *node) set(id string, state runtimeapi.ContainerState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.find(id).State = state
}

func (n *node) running(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.find(id)
	return c != nil && c.State == runtimeapi.ContainerState_CONTAINER_RUNNING
}

// says writes the status of a container into the Pod.
func (n *node) says(pod *corev1.Pod, name, id string, restarts int, ready bool) {
	n.edit(pod, func(stored *corev1.Pod) {
		status := corev1.ContainerStatus{
			Name: name, ContainerID: "test://" + id, RestartCount: int32(restarts), Ready: ready,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}
		for i := range stored.Status.ContainerStatuses {
			if stored.Status.ContainerStatuses[i].Name == name {
				stored.Status.ContainerStatuses[i] = status
				return
			}
		}
		stored.Status.ContainerStatuses = append(stored.Status.ContainerStatuses, status)
	})
}

// edit changes the Pod in the API. It does nothing if the Pod is gone.
func (n *node) edit(pod *corev1.Pod, change func(*corev1.Pod)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	gvr := corev1.SchemeGroupVersion.WithResource("pods")
	object, err := n.kube.Tracker().Get(gvr, pod.Namespace, pod.Name)
	if err != nil || object.(*corev1.Pod).UID != pod.UID {
		return
	}
	stored := object.(*corev1.Pod).DeepCopy()
	change(stored)
	require.NoError(n.t, n.kube.Tracker().Update(gvr, stored, pod.Namespace))
}

// exits ends an instance. One second later the kubelet sees that and starts the next instance.
func (n *node) exits(id string) {
	c := n.find(id)
	if c == nil || c.State == runtimeapi.ContainerState_CONTAINER_EXITED {
		return
	}
	c.State = runtimeapi.ContainerState_CONTAINER_EXITED
	if !n.noKubelet {
		time.AfterFunc(time.Second, func() { n.next(id) })
	}
}

// kubeletUID returns the UID that the kubelet uses for a Pod.
func kubeletUID(pod *corev1.Pod) string {
	return cmp.Or(pod.Annotations[staticUIDKey], string(pod.UID))
}

// next starts the instance that follows the given one.
func (n *node) next(id string) {
	n.mu.Lock()
	ended := n.find(id)
	restarts, _ := strconv.Atoi(ended.Annotations[kubelet.RestartCountKey])
	uid, name := ended.Labels[kubelet.PodUIDLabel], ended.Labels[kubelet.ContainerNameLabel]
	n.mu.Unlock()
	pods, err := n.kube.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithKind("Pod"), "ns")
	require.NoError(n.t, err)
	for i := range pods.(*corev1.PodList).Items {
		if pod := &pods.(*corev1.PodList).Items[i]; kubeletUID(pod) == uid {
			n.start(pod, name, restarts+1)
		}
	}
}

func (n *node) find(id string) *runtimeapi.Container {
	for _, c := range n.containers {
		if c.Id == id {
			return c
		}
	}
	return nil
}

func (n *node) ListContainers(_ context.Context, filter *runtimeapi.ContainerFilter) (found []*runtimeapi.Container, _ error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away {
		return nil, status.Error(codes.Unavailable, "away")
	}
	for _, c := range n.containers {
		if labels.SelectorFromSet(filter.LabelSelector).Matches(labels.Set(c.Labels)) {
			found = append(found, &runtimeapi.Container{Id: c.Id, State: c.State, CreatedAt: c.CreatedAt, Labels: c.Labels, Annotations: c.Annotations})
		}
	}
	return found, nil
}

func (n *node) ContainerStatus(_ context.Context, id string, _ bool) (*runtimeapi.ContainerStatusResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	c := n.find(id)
	if c == nil {
		return nil, status.Error(codes.NotFound, id)
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Id: id, State: c.State, StartedAt: n.started[id].UnixNano()}}, nil
}

func (n *node) ExecSync(ctx context.Context, id string, cmd []string, _ time.Duration) (stdout, stderr []byte, err error) {
	n.mu.Lock()
	n.note("exec %s in %s", strings.Join(cmd, " "), id)
	took, failed := n.hook, n.hookErr
	n.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-time.After(took):
		return nil, nil, failed
	}
}

func (n *node) StopContainer(_ context.Context, id string, timeout int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away {
		return status.Error(codes.Unavailable, "away")
	}
	n.note("stop %s %d", id, timeout)
	c := n.find(id)
	if c == nil {
		return status.Error(codes.NotFound, id)
	}
	if err := n.stopErr[c.Labels[kubelet.ContainerNameLabel]]; err != nil {
		return err
	}
	n.exits(id)
	if n.onStop != nil {
		n.onStop(id)
	}
	return nil
}
