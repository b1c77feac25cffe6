package jobsidecarterminator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// world has one Pod, p, on the node n1, and the controller.
type world struct {
	*controllertest.Fixture
	t *testing.T
}

// newWorld has a Pod with the restart policy, the container main, and those that the edits add. All run.
func newWorld(t *testing.T, policy corev1.RestartPolicy, edits ...func(*corev1.Pod)) *world {
	t.Helper()
	w := &world{Fixture: controllertest.New(t, ""), t: t}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u1"},
		Spec:       corev1.PodSpec{NodeName: "n1", RestartPolicy: policy},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	container("main")(pod)
	for _, edit := range edits {
		edit(pod)
	}
	w.Add(pod, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	w.Control(build(w.Deps))
	return w
}

// container adds a running container. env are names and values of environment variables.
func container(name string, env ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		c := corev1.Container{Name: name, Image: name + ":v1"}
		for i := 0; i < len(env); i += 2 {
			c.Env = append(c.Env, corev1.EnvVar{Name: env[i], Value: env[i+1]})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
		// Statuses are in another order than containers.
		pod.Status.ContainerStatuses = append([]corev1.ContainerStatus{{
			Name: name, ContainerID: "test://" + name + "1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}, pod.Status.ContainerStatuses...)
	}
}

func side(name string) func(*corev1.Pod) { return container(name, pub.TerminateSidecarEnv, "true") }

func ignoring(name string) func(*corev1.Pod) {
	return container(name, pub.TerminateSidecarEnv, "true", pub.TerminateSidecarIgnoreExitCodeEnv, "True")
}

// ended returns an edit for a container that has ended.
func ended(name string, code int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		statusOf(pod, name).State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
}

// again returns an edit for a container that the kubelet started again.
func again(name, id string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		status := statusOf(pod, name)
		status.ContainerID, status.State = "test://"+id, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		status.RestartCount++
	}
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

// change changes the Pod as the kubelet does, and reconciles it until nothing more is written. It returns the writes.
func (w *world) change(edits ...func(*corev1.Pod)) []string {
	w.t.Helper()
	pod := w.pod().DeepCopy()
	for _, edit := range edits {
		edit(pod)
	}
	w.Update(pod)
	return w.settle()
}

func (w *world) settle() []string { return w.Converge("ns", "p") }

func (w *world) pod() *corev1.Pod { return w.Pods()[0] }

// request returns the request for the Pod, or nil.
func (w *world) request() *v1beta1.ContainerRecreateRequest {
	w.t.Helper()
	list, err := w.Kruise.AppsV1beta1().ContainerRecreateRequests("ns").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	require.LessOrEqual(w.t, len(list.Items), 1)
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// requested returns the containers of the request.
func (w *world) requested() (names []string) {
	w.t.Helper()
	if request := w.request(); request != nil {
		for i := range request.Spec.Containers {
			names = append(names, request.Spec.Containers[i].Name)
		}
	}
	return names
}

// answer changes the request as admission, the agent and its controller do.
func (w *world) answer(edit func(*v1beta1.ContainerRecreateRequest)) {
	w.t.Helper()
	request := w.request()
	for i := range request.Spec.Containers {
		if c := &request.Spec.Containers[i]; c.StatusContext == nil {
			c.StatusContext = &v1beta1.ContainerRecreateRequestContainerContext{ContainerID: "test://" + c.Name + "1"}
		}
	}
	edit(request)
	w.Update(request)
}

func (w *world) completed(r *v1beta1.ContainerRecreateRequest) {
	r.Status.Phase, r.Status.CompletionTime = v1beta1.ContainerRecreateRequestCompleted, new(metav1.NewTime(w.Clock.Now()))
}

func (w *world) pass(d time.Duration) { w.Clock.SetTime(w.Clock.Now().Add(d)) }
