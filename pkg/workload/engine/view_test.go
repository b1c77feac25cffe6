package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// observed returns the View of a workload with Pods.
func observed(t *testing.T, edit func(*Target), pods ...*corev1.Pod) *View {
	t.Helper()
	target := &Target{
		Object: &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "set"}}, Replicas: len(pods),
		Selector: labels.Everything(), Identity: RandomIdentity("web", "id", false),
		Revisions: Revisions{Format: history.PodTemplates, Content: history.Content{Data: []byte(`{"spec":{"template":{}}}`)}},
	}
	if edit != nil {
		edit(target)
	}
	e := &Engine{
		Clock: clocktesting.NewFakePassiveClock(now), Random: func(int) string { return "random" },
		Caches: Caches{
			Pods:      func(metav1.Object) ([]*corev1.Pod, error) { return pods, nil },
			Claims:    func(metav1.Object) ([]*corev1.PersistentVolumeClaim, error) { return nil, nil },
			Revisions: func(metav1.Object) ([]*appsv1.ControllerRevision, error) { return nil, nil },
		},
	}
	v, err := e.Observe(target)
	require.NoError(t, err)
	return v
}

func servingPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), Labels: map[string]string{"id": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Image: "app:1", ContainerID: "test://1"}},
		},
	}
}

// Without the readiness gate, the kubelet reports a Pod as ready until its container ends. The Pod is not available until the
// update is complete.
func TestPodWithoutTheGateIsAvailableOnceItsUpdateIsComplete(t *testing.T) {
	pod := servingPod("a")
	require.NoError(t, (&inplace.Change{Images: map[string]string{"main": "app:2"}}).Apply(pod, "web-2", now))
	v := observed(t, nil, pod)
	assert.False(t, v.Available(pod))
	assert.False(t, v.Ready(pod))

	pod.Status.ContainerStatuses[0].ContainerID, pod.Status.ContainerStatuses[0].Image = "test://2", "app:2"
	pod.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
	v = observed(t, nil, pod)
	assert.True(t, v.Available(pod))
}

func TestPodsThatNoLongerMatchLeave(t *testing.T) {
	selector, err := labels.Parse("app=web")
	require.NoError(t, err)
	stays, leaves, ended := servingPod("a"), servingPod("b"), servingPod("c")
	stays.Labels["app"], ended.Status.Phase = "web", corev1.PodSucceeded
	v := observed(t, func(target *Target) { target.Selector = selector }, leaves, ended, stays)
	assert.Equal(t, []*corev1.Pod{stays}, v.Pods)
	assert.Equal(t, []*corev1.Pod{leaves}, v.Released)
	assert.Equal(t, []*corev1.Pod{ended}, v.Inactive)
	assert.Equal(t, []string{"random"}, v.NewIDs(1))
}
