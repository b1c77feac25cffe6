package launchorder

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/launch"
)

// world has the Pod p, and the controller.
type world struct {
	*controllertest.Fixture
	t *testing.T
}

// newWorld has a Pod whose containers a, b, c and so on have the priorities.
func newWorld(t *testing.T, priorities ...int32) *world {
	t.Helper()
	w := &world{Fixture: controllertest.New(t, "", newPod("u1", priorities...)), t: t}
	w.Control(build(w.Deps))
	return w
}

func newPod(uid types.UID, priorities ...int32) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "p", UID: uid, CreationTimestamp: metav1.NewTime(controllertest.Now),
	}}
	for i, priority := range priorities {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: string(rune('a' + i)), Env: []corev1.EnvVar{launch.Barrier("p", priority)},
		})
	}
	return pod
}

func (w *world) settle() []string { return w.Converge("ns", "p") }

// ready sets whether containers are ready, and reconciles the Pod. It returns the writes.
func (w *world) ready(is bool, names ...string) []string {
	w.t.Helper()
	pod := w.Pods()[0].DeepCopy()
	for _, name := range names {
		pod.Status.ContainerStatuses = append([]corev1.ContainerStatus{{Name: name, Ready: is}}, pod.Status.ContainerStatuses...)
	}
	w.Update(pod)
	return w.settle()
}

// keys returns the data of the ConfigMap, or nil.
func (w *world) keys() map[string]string {
	w.t.Helper()
	barrier, err := w.Kube.CoreV1().ConfigMaps("ns").Get(w.t.Context(), "p-barrier", metav1.GetOptions{})
	w.Kube.ClearActions()
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.t, err)
	return barrier.Data
}

func (w *world) completed() bool {
	return w.Pods()[0].Annotations[pub.ContainerLaunchCompletedKey] == "true"
}

func open(keys ...string) map[string]string {
	data := map[string]string{}
	for _, key := range keys {
		data[key] = "true"
	}
	return data
}

// Cases container-launch-priority 1, 12, 14.
func TestContainersStartOneAfterTheOther(t *testing.T) {
	w := newWorld(t, 0, -1, -2)
	assert.Equal(t, []string{"create configmaps"}, w.settle(), "before the Pod is scheduled")
	assert.Equal(t, open("p_0"), w.keys())
	barrier, err := w.Kube.CoreV1().ConfigMaps("ns").Get(t.Context(), "p-barrier", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u1"}}, barrier.OwnerReferences)

	assert.Empty(t, w.ready(false, "a"))
	assert.Equal(t, []string{"patch configmaps p-barrier"}, w.ready(true, "a"))
	assert.Equal(t, open("p_0", "p_-1"), w.keys())
	assert.False(t, w.completed())
	w.ready(true, "b")
	assert.Equal(t, open("p_0", "p_-1", "p_-2"), w.keys())
	assert.True(t, w.completed())
	assert.Empty(t, w.ready(true, "c"))
	assert.False(t, concerned(w.Pods()[0]))
}

// The kubelet repeats a failed start late, unless its Pod changes.
func TestKubeletIsWokenForEachKey(t *testing.T) {
	w := newWorld(t, 2, 1, 0)
	w.settle()
	pod := w.Pods()[0].DeepCopy()
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", Ready: true}, {Name: "b", State: waiting}, {Name: "c", State: waiting}}
	w.Update(pod)
	assert.Equal(t, wakeDelay, w.Step("ns", "p"))
	assert.Equal(t, []string{"patch configmaps p-barrier"}, w.Writes(), "first the key, which the kubelet must see first")
	for _, want := range []string{"p_1 1", "p_1 2", "p_1 3"} {
		assert.Equal(t, wakeDelay, w.Step("ns", "p"))
		assert.Equal(t, []string{"patch pods p"}, w.Writes())
		assert.Equal(t, want, w.Pods()[0].Annotations[pub.ContainerLaunchOpenedKey])
	}
	assert.Empty(t, w.settle(), "it may wait for something else")

	pod = w.Pods()[0].DeepCopy()
	pod.Status.ContainerStatuses[1] = corev1.ContainerStatus{Name: "b", Ready: true}
	w.Update(pod)
	w.settle()
	assert.Equal(t, "p_0 3", w.Pods()[0].Annotations[pub.ContainerLaunchOpenedKey], "the last key too, although the Pod is completed")
	assert.True(t, w.completed())
}

// Cases container-launch-priority 2, 8, 10.
func TestEqualPrioritiesStartTogetherAndAreAllAwaited(t *testing.T) {
	w := newWorld(t, 0, 5, 5)
	w.settle()
	assert.Equal(t, open("p_5"), w.keys())
	assert.Empty(t, w.ready(true, "c"), "b is not ready")
	for range 5 {
		assert.Equal(t, leastRecheck, w.Step("ns", "p"))
	}
	assert.Empty(t, w.Writes(), "a container that is never ready costs one read each time")
	w.ready(true, "b")
	assert.Equal(t, open("p_5", "p_0"), w.keys())
	assert.True(t, w.completed())
	assert.Empty(t, w.ready(false, "b"), "a later restart closes nothing")
	assert.Equal(t, open("p_5", "p_0"), w.keys())
}

func TestContainerThatSucceededHoldsBackNoOther(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	for name, test := range map[string]struct {
		policy corev1.RestartPolicy
		own    *corev1.ContainerRestartPolicy
		code   int32
		opens  bool
	}{
		"Never":                {policy: corev1.RestartPolicyNever, opens: true},
		"OnFailure":            {policy: corev1.RestartPolicyOnFailure, opens: true},
		"it failed":            {policy: corev1.RestartPolicyNever, code: 1},
		"it starts again":      {policy: corev1.RestartPolicyAlways},
		"by its own policy":    {policy: corev1.RestartPolicyNever, own: &always},
		"it failed, OnFailure": {policy: corev1.RestartPolicyOnFailure, code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 10, 0)
			pod := w.Pods()[0].DeepCopy()
			pod.Spec.RestartPolicy, pod.Spec.Containers[0].RestartPolicy = test.policy, test.own
			w.Update(pod)
			w.settle()
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "a", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: test.code}},
			}}
			w.Update(pod)
			w.settle()
			assert.Equal(t, test.opens, w.keys()["p_0"] == "true")
			assert.Equal(t, test.opens, w.completed())
		})
	}
}

// A container that has failed and does not start again holds back the others without end. The user is told.
func TestContainerThatFailedForGoodIsReported(t *testing.T) {
	tests := map[string]struct {
		policy corev1.RestartPolicy
		name   string
		code   int32
		want   bool
	}{
		"it failed for good":                     {corev1.RestartPolicyNever, "a", 3, true},
		"it starts again":                        {corev1.RestartPolicyOnFailure, "a", 3, false},
		"it succeeded":                           {corev1.RestartPolicyNever, "a", 0, false},
		"another one failed, which holds nobody": {corev1.RestartPolicyNever, "b", 3, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, 1)
			pod := w.Pods()[0].DeepCopy()
			pod.Spec.RestartPolicy = tc.policy
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: tc.name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: tc.code}},
			}}
			w.Update(pod)
			w.settle()
			events := w.Events()
			if !tc.want {
				assert.Empty(t, events)
				return
			}
			require.NotEmpty(t, events)
			assert.Contains(t, events[0], "Warning FailedLaunchOrder containers of lower launch priorities never start, because container a ended "+
				"with exit code 3 before it was ready")
		})
	}
}

// The ConfigMap of a Pod that waits for long is read less and less often.
func TestPodThatWaitsForLongIsReadSeldom(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{
		0: 15 * time.Second, time.Minute: 15 * time.Second, 4 * time.Minute: time.Minute, time.Hour: 5 * time.Minute,
	} {
		w := newWorld(t, 2, 1)
		w.settle()
		pod := w.Pods()[0].DeepCopy()
		pod.CreationTimestamp = metav1.NewTime(w.Clock.Now().Add(-age))
		w.Update(pod)
		assert.Equal(t, want, w.Step("ns", "p"), age)
	}
}

// Case container-launch-priority 9.
func TestPodOfTheSameNameStartsInOrderAgain(t *testing.T) {
	w := newWorld(t, 1, 0)
	w.settle()
	w.ready(true, "a")
	w.ready(true, "b")
	require.NoError(t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", "p"))
	w.Add(newPod("u2", 1, 0))
	assert.Equal(t, []string{"create configmaps", "delete configmaps p-barrier"}, w.settle())
	assert.Equal(t, open("p_1"), w.keys())
}

// Case container-launch-priority 16.
func TestDeletedBarrierReturns(t *testing.T) {
	configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
	w := newWorld(t, 2, 1, 0)
	w.settle()
	w.ready(true, "a")
	require.NoError(t, w.Kube.Tracker().Delete(configMaps, "ns", "p-barrier"))
	w.settle()
	assert.Equal(t, open("p_2", "p_1"), w.keys(), "with the keys of those that may start")
	w.ready(true, "b")
	require.True(t, w.completed())

	require.NoError(t, w.Kube.Tracker().Delete(configMaps, "ns", "p-barrier"))
	assert.Empty(t, w.settle(), "nobody waits for it")
	pod := w.Pods()[0].DeepCopy()
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "a", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}},
	}}
	w.Update(pod)
	w.settle()
	assert.Equal(t, open("p_2", "p_1", "p_0"), w.keys(), "all keys, because all had started")
}

func TestConfigMapOfAUserStays(t *testing.T) {
	w := newWorld(t, 1, 0)
	w.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p-barrier"}, Data: map[string]string{"mine": "x"}})
	assert.Empty(t, w.settle())
	assert.Equal(t, map[string]string{"mine": "x"}, w.keys())
	assert.Contains(t, w.Events()[0], "Warning FailedLaunchOrder containers wait, because the ConfigMap p-barrier exists")
	assert.False(t, w.completed())
}

// Pods without barriers, and malformed ones, cost nothing.
func TestOtherPodsAreLeftAlone(t *testing.T) {
	literal := func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: pub.ContainerLaunchBarrierEnv, Value: "x"}}
	}
	tests := map[string]func(*corev1.Pod){
		"no barrier":        func(pod *corev1.Pod) { pod.Spec.Containers[0].Env = nil },
		"a literal value":   literal,
		"another ConfigMap": func(pod *corev1.Pod) { pod.Spec.Containers[0].Env[0].ValueFrom.ConfigMapKeyRef.Name = "mine-barrier" },
		"another key":       func(pod *corev1.Pod) { pod.Spec.Containers[0].Env[0].ValueFrom.ConfigMapKeyRef.Key = "p_x" },
		"it is deleted":     func(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) },
		"it has succeeded":  func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded },
		"all may start":     func(pod *corev1.Pod) { pod.Annotations = map[string]string{pub.ContainerLaunchCompletedKey: "true"} },
	}
	for name, edit := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("u1", 1)
			require.True(t, concerned(pod))
			edit(pod)
			assert.False(t, concerned(pod))
		})
	}
	plain := newPod("u1", 1)
	plain.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "x"}}
	assert.Zero(t, testing.AllocsPerRun(10, func() { concerned(plain) }))
}
