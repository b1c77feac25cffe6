package containerrestart

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/containerrecreaterequest"
	"kruise.io/kruise/pkg/features"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
	"kruise.io/kruise/pkg/nodeagent/cluster/clustertest"
)

var requests = v1beta1.SchemeGroupVersion.WithResource("containerrecreaterequests")

// world is one node with its agent and the controller, in virtual time.
type world struct {
	t      *testing.T
	kube   *fake.Clientset
	kruise *kruisefake.Clientset
	node   *node
	events *record.FakeRecorder
	agent  func()

	// deaf makes all status updates fail with ServiceUnavailable.
	deaf atomic.Bool

	mu      sync.Mutex
	version int
	// history holds the written statuses of requests, in order.
	history []written
}

type written struct {
	name   string
	status v1beta1.ContainerRecreateRequestStatus
}

// simulate runs a test in its own world with one Pod, p, that runs app and sidecar.
func simulate(t *testing.T, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, kube: fake.NewClientset(), kruise: kruisefake.NewClientset(), events: record.NewFakeRecorder(10000), version: 1000}
		w.node = newNode(t, w.kube)
		w.kruise.PrependReactor("update", "containerrecreaterequests", w.update)
		w.pod("p")
		stop := w.controller()
		w.agent = w.runAgent()
		agenttest.Pass(time.Second) // Let the caches fill.
		test(w)
		w.agent()
		stop()
	})
}

// pod creates a Pod whose containers run and are ready.
func (w *world) pod(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{
			NodeName: "n1", TerminationGracePeriodSeconds: ptr.To[int64](30),
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: pub.KruisePodReadyConditionType}},
		},
		Status: corev1.PodStatus{PodIP: "10.0.0.1"},
	}
	for _, edit := range edits {
		edit(pod)
	}
	require.NoError(w.t, w.kube.Tracker().Add(pod))
	w.node.start(pod, "app", 0)
	w.node.start(pod, "sidecar", 0)
	agenttest.Pass(time.Second)
	return pod
}

// update does what the API server does with a write of the status: it checks the version and stores only the status.
func (w *world) update(action clienttesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaf.Load() {
		return true, nil, apierrors.NewServiceUnavailable("deaf")
	}
	sent := action.(clienttesting.UpdateAction).GetObject().(*request)
	object, err := w.kruise.Tracker().Get(requests, sent.Namespace, sent.Name)
	if err != nil {
		return true, nil, err
	}
	stored := object.(*request).DeepCopy()
	if sent.ResourceVersion != stored.ResourceVersion {
		return true, nil, apierrors.NewConflict(requests.GroupResource(), sent.Name, fmt.Errorf("it has version %s", stored.ResourceVersion))
	}
	stored.Status = *sent.Status.DeepCopy()
	stored.ResourceVersion = w.nextVersion()
	w.history = append(w.history, written{stored.Name, stored.Status})
	return true, stored.DeepCopy(), w.kruise.Tracker().Update(requests, stored, sent.Namespace)
}

func (w *world) nextVersion() string {
	w.version++
	return fmt.Sprint(w.version)
}

// controller runs the controller until the returned function is called.
func (w *world) controller() (stop func()) {
	w.t.Helper()
	gate, err := features.New("")
	require.NoError(w.t, err)
	caches := controller.NewCaches(w.kube, w.kruise, "", 0)
	deps := caches.For(controller.Deps{Kube: w.kube, Kruise: w.kruise, Features: gate, Clock: clock.RealClock{}})
	c, err := containerrecreaterequest.New(deps, containerrecreaterequest.Options{})
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	caches.Start(ctx, deps.Needs())
	end := agenttest.Run(ctx, c.Run)
	return func() {
		cancel()
		end()
		caches.Wait()
	}
}

// runAgent runs the agent until the returned function is called.
func (w *world) runAgent() (stop func()) {
	w.t.Helper()
	c, err := New(Config{
		Node: "n1", Client: clustertest.New(w.kube, w.kruise), Recorder: w.events, Clock: clock.RealClock{}, Workers: DefaultWorkers,
		Runtime: func(name string) Runtime {
			if name == "test" {
				return w.node
			}
			return nil
		},
	})
	require.NoError(w.t, err)
	return agenttest.Run(w.t.Context(), c.Run)
}

// create creates a request for a Pod, with the defaults that the API server sets.
func (w *world) create(name, pod string, containers []string, edits ...func(*request)) {
	w.t.Helper()
	object, err := w.kube.CoreV1().Pods("ns").Get(w.t.Context(), pod, metav1.GetOptions{})
	require.NoError(w.t, err)
	r := &request{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(time.Now().Truncate(time.Second)),
			Labels: map[string]string{
				pub.ContainerRecreateRequestPodUIDKey: string(object.UID), pub.ContainerRecreateRequestNodeNameKey: "n1",
				pub.ContainerRecreateRequestActiveKey: "true",
			},
		},
		Spec: v1beta1.ContainerRecreateRequestSpec{PodName: pod, Strategy: &v1beta1.ContainerRecreateRequestStrategy{
			FailurePolicy: v1beta1.FailContainerRecreateRequestFailurePolicy, TerminationGracePeriodSeconds: ptr.To[int64](30),
		}},
	}
	for _, container := range containers {
		spec := containerSpec{Name: container, StatusContext: &v1beta1.ContainerRecreateRequestContainerContext{}}
		for _, status := range object.Status.ContainerStatuses {
			if status.Name == container {
				spec.StatusContext.ContainerID, spec.StatusContext.RestartCount = status.ContainerID, status.RestartCount
			}
		}
		r.Spec.Containers = append(r.Spec.Containers, spec)
	}
	for _, edit := range edits {
		edit(r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.ResourceVersion = w.nextVersion()
	require.NoError(w.t, w.kruise.Tracker().Add(r))
}

func (w *world) get(name string) *request {
	w.t.Helper()
	object, err := w.kruise.Tracker().Get(requests, "ns", name)
	require.NoError(w.t, err)
	return object.(*request).DeepCopy()
}

// edit changes a request as a user would.
func (w *world) edit(name string, change func(*request)) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	object, err := w.kruise.Tracker().Get(requests, "ns", name)
	require.NoError(w.t, err)
	r := object.(*request).DeepCopy()
	change(r)
	r.ResourceVersion = w.nextVersion()
	require.NoError(w.t, w.kruise.Tracker().Update(requests, r, "ns"))
}

func (w *world) remove(name string) {
	w.t.Helper()
	require.NoError(w.t, w.kruise.Tracker().Delete(requests, "ns", name))
}

// until advances the clock until the condition holds.
func (w *world) until(what string, condition func() bool) {
	w.t.Helper()
	for range 20 * 60 * 10 {
		synctest.Wait()
		if condition() {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	require.Fail(w.t, "never: "+what, "%v", w.node.texts())
}

// completed waits for a request to complete and returns it.
func (w *world) completed(name string) *request {
	w.t.Helper()
	w.until(name+" ends", func() bool { return w.get(name).Status.CompletionTime != nil })
	return w.get(name)
}

// statuses returns the written statuses of a request, in order.
func (w *world) statuses(name string) (statuses []v1beta1.ContainerRecreateRequestStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.history {
		if one.name == name {
			statuses = append(statuses, one.status)
		}
	}
	return statuses
}

// told returns the events so far.
func (w *world) told() (events []string) {
	for {
		select {
		case event := <-w.events.Events:
			events = append(events, event)
		default:
			return events
		}
	}
}

// restarts returns the restart count of a container of the Pod.
func (w *world) restarts(pod, container string) int32 {
	w.t.Helper()
	object, err := w.kube.CoreV1().Pods("ns").Get(w.t.Context(), pod, metav1.GetOptions{})
	require.NoError(w.t, err)
	for _, status := range object.Status.ContainerStatuses {
		if status.Name == container {
			return status.RestartCount
		}
	}
	return -1
}
