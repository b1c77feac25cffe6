package containerrecreaterequest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

type (
	request = v1beta1.ContainerRecreateRequest
	state   = v1beta1.ContainerRecreateRequestContainerRecreateState
)

// world has one Pod on a node, the request that restarts its containers, and the controller.
type world struct {
	*controllertest.Fixture
	*Reconciler
	t *testing.T
}

func newWorld(t *testing.T, pod *corev1.Pod, requests ...*request) *world {
	t.Helper()
	w := &world{Fixture: controllertest.New(t, ""), t: t}
	if pod != nil {
		w.Add(pod)
	}
	for _, r := range requests {
		w.Add(r)
	}
	r, skeleton := build(w.Deps, Options{Namespace: controllertest.SystemNamespace})
	w.Control(skeleton)
	w.Reconciler = r
	w.Observe()
	return w
}

// reconcile runs one pass over the request r and returns the delay until the next pass.
func (w *world) reconcile() time.Duration {
	w.t.Helper()
	result, err := w.Pass("ns", "r")
	require.NoError(w.t, err)
	return result.RequeueAfter
}

// settle reconciles until nothing more is written, and returns the writes.
func (w *world) settle() []string { return w.Converge("ns", "r") }

func (w *world) request() *request {
	w.t.Helper()
	object, err := w.Kruise.Tracker().Get(v1beta1.SchemeGroupVersion.WithResource("containerrecreaterequests"), "ns", "r")
	require.NoError(w.t, err)
	return object.(*request)
}

func (w *world) change(edit func(*request)) {
	w.t.Helper()
	r := w.request().DeepCopy()
	edit(r)
	w.Update(r)
}

func (w *world) changePod(edit func(*corev1.Pod)) {
	w.t.Helper()
	pod := w.pod().DeepCopy()
	edit(pod)
	w.Update(pod)
}

// pod returns the Pod of the request.
func (w *world) pod() *corev1.Pod {
	w.t.Helper()
	pods := slices.DeleteFunc(w.Pods(), func(p *corev1.Pod) bool { return p.Name != "p" })
	require.Len(w.t, pods, 1)
	return pods[0]
}

// condition returns the Pod's condition KruisePodReady.
func (w *world) condition() (status corev1.ConditionStatus, message string) {
	w.t.Helper()
	for _, c := range w.pod().Status.Conditions {
		if c.Type == pub.KruisePodReadyConditionType {
			return c.Status, c.Message
		}
	}
	return "", ""
}

// newRequest returns a request in phase Recreating for containers app and sidecar, created at controllertest.Now.
func newRequest(edits ...func(*request)) *request {
	r := &request{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "r", UID: "r1", CreationTimestamp: metav1.NewTime(controllertest.Now),
			Labels: map[string]string{
				pub.ContainerRecreateRequestPodUIDKey: "u1", pub.ContainerRecreateRequestNodeNameKey: "n1",
				pub.ContainerRecreateRequestActiveKey: "true",
			},
		},
		Spec: v1beta1.ContainerRecreateRequestSpec{
			PodName: "p", Strategy: &v1beta1.ContainerRecreateRequestStrategy{},
			Containers: []v1beta1.ContainerRecreateRequestContainer{
				{Name: "app", StatusContext: &v1beta1.ContainerRecreateRequestContainerContext{ContainerID: "containerd://a1"}},
				{Name: "sidecar", StatusContext: &v1beta1.ContainerRecreateRequestContainerContext{ContainerID: "containerd://s1"}},
			},
		},
		Status: v1beta1.ContainerRecreateRequestStatus{Phase: v1beta1.ContainerRecreateRequestRecreating},
	}
	for _, edit := range edits {
		edit(r)
	}
	return r
}

func phase(phase v1beta1.ContainerRecreateRequestPhase) func(*request) {
	return func(r *request) { r.Status.Phase = phase }
}

func ended(r *request) {
	r.Status.Phase, r.Status.CompletionTime = v1beta1.ContainerRecreateRequestCompleted, new(metav1.NewTime(controllertest.Now))
}

func deadlineOf(seconds int64) func(*request) {
	return func(r *request) { r.Spec.ActiveDeadlineSeconds = &seconds }
}

func unready(seconds int64) func(*request) {
	return func(r *request) { r.Spec.Strategy.UnreadyGracePeriodSeconds = &seconds }
}

// newPod returns a Pod with instances a1 and s1 and the readiness gate.
func newPod(edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u1"},
		Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: pub.KruisePodReadyConditionType}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: pub.KruisePodReadyConditionType, Status: corev1.ConditionTrue},
		}},
	}
	runs("sidecar", "s1", 0, true)(pod)
	runs("app", "a1", 0, true)(pod)
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func setStatus(pod *corev1.Pod, status corev1.ContainerStatus) {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == status.Name {
			pod.Status.ContainerStatuses[i] = status
			return
		}
	}
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
}

func runs(name, id string, restarts int32, ready bool) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		setStatus(pod, corev1.ContainerStatus{
			Name: name, ContainerID: "containerd://" + id, RestartCount: restarts, Ready: ready,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
}

// waits returns an edit for a container that the kubelet has not started again.
func waits(name, id, reason, message string, finished time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		setStatus(pod, corev1.ContainerStatus{
			Name: name, ContainerID: "containerd://" + id, State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
			}, LastTerminationState: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(finished)},
			},
		})
	}
}

// nothing asserts that a pass writes nothing.
func (w *world) nothing(why string) {
	w.t.Helper()
	assert.Empty(w.t, w.settle(), why)
}

// gone deletes an object from the server of a cache, as its owner would.
func (w *world) gone(resource string) {
	w.t.Helper()
	if resource == "pods" {
		require.NoError(w.t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", "p"))
		return
	}
	require.NoError(w.t, w.Kruise.Tracker().Delete(v1beta1.SchemeGroupVersion.WithResource(resource), "ns", "r"))
}

func indexed(t *testing.T, indexer cache.Indexer, index, value string) int {
	t.Helper()
	items, err := indexer.ByIndex(index, value)
	require.NoError(t, err)
	return len(items)
}
