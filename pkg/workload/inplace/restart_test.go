package inplace

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// restarted returns the template with another time of a restart.
func restarted(at string, edits ...func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	return template(func(t *corev1.PodTemplateSpec) {
		t.Annotations[pub.RestartedAtKey] = at
		for _, edit := range edits {
			edit(t)
		}
	})
}

func planned(t *testing.T, from, to *corev1.PodTemplateSpec) *Change {
	t.Helper()
	change, ok := Plan(from, to, Options{})
	require.True(t, ok)
	return change
}

// started starts another instance of a container.
func started(pod *corev1.Pod, name, instance string) {
	containerStatus(pod, name).ContainerID = "containerd://" + name + instance
}

func progressOf(t *testing.T, pod *corev1.Pod, seen time.Duration) Progress {
	t.Helper()
	progress, err := Evaluate(pod, func(string) time.Duration { return seen })
	require.NoError(t, err)
	return progress
}

// Case inplace-update 23.
func TestRestartIsCompleteWhenEveryContainerHasAnotherInstance(t *testing.T) {
	change := planned(t, template(nil), restarted("1"))
	pod := runningPod("A")
	assert.True(t, change.Restarts())
	assert.True(t, change.Interrupts(pod))
	report(t, pod)
	require.NoError(t, change.Apply(pod, "rev2", now))
	assert.Equal(t, "1", pod.Annotations[pub.RestartedAtKey])
	state, err := record.Read(pod)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"main": "containerd://mainA", "side": "containerd://sideA"}, state.RestartContainers)
	assert.False(t, progressOf(t, pod, 0).Complete)
	started(pod, "main", "B")
	report(t, pod)
	assert.False(t, progressOf(t, pod, time.Minute).Complete, "the other one has not restarted")
	started(pod, "side", "B")
	assert.False(t, progressOf(t, pod, 0).Complete, "the agent has not reported the instance")
	report(t, pod)
	assert.Equal(t, Progress{Complete: true}, progressOf(t, pod, 0))
}

// Case inplace-update 23.
func TestRestartWithoutAnAgentIsHopeless(t *testing.T) {
	pod := runningPod("A")
	require.NoError(t, planned(t, template(nil), restarted("1")).Apply(pod, "rev2", now))
	patience := replacedWithin(pod) + restartPatience
	assert.Equal(t, Progress{Recheck: time.Second}, progressOf(t, pod, patience-time.Second))
	assert.Contains(t, progressOf(t, pod, patience).Hopeless, "no node agent")
}

func TestWhichPodsCanRestartInPlace(t *testing.T) {
	pod := runningPod("A")
	report(t, pod)
	assert.False(t, Restartable(pod), "the agent does not see that the Pod is out of service")
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: pub.InPlaceUpdateReadyConditionType}}
	assert.True(t, Restartable(pod))
	started(pod, "side", "B")
	assert.False(t, Restartable(pod), "the agent has not reported an instance")
	delete(pod.Annotations, pub.RuntimeContainerMetaKey)
	assert.False(t, Restartable(pod))
}

// The kubelet replaces a container with a new image. The agent must not stop it too.
func TestContainerWithANewImageIsNotRestartedAgain(t *testing.T) {
	change := planned(t, template(nil), restarted("1", func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "main:2" }))
	pod := runningPod("A")
	require.NoError(t, change.Apply(pod, "rev2", now))
	state, err := record.Read(pod)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"side": "containerd://sideA"}, state.RestartContainers)
	assert.Contains(t, state.LastContainerStatuses, "main")
}

// Case inplace-update 23a.
func TestRollbackOfARestartRestartsNothing(t *testing.T) {
	change := planned(t, restarted("1"), template(nil))
	assert.False(t, change.Restarts())
	assert.False(t, change.Interrupts(runningPod("A")))
}

// A restart in the grace period of another one, or a rollback.
func TestRestartInTheGracePeriod(t *testing.T) {
	for name, tc := range map[string]struct {
		next     *corev1.PodTemplateSpec
		restarts bool
	}{"another restart": {restarted("2"), true}, "a rollback": {template(nil), false}} {
		t.Run(name, func(t *testing.T) {
			pod := runningPod("A")
			pod.Labels[pub.ControllerRevisionHashKey] = "rev2"
			require.NoError(t, planned(t, template(nil), restarted("1")).Delay(pod, "rev2", 10, now))
			assert.NotContains(t, pod.Annotations, pub.RestartedAtKey)
			change, err := planned(t, restarted("1"), tc.next).Instead(pod)
			require.NoError(t, err)
			assert.Equal(t, tc.restarts, change.Restarts())
			assert.Equal(t, tc.restarts, change.Interrupts(pod))
			require.NoError(t, change.Apply(pod, "rev3", now))
			assert.Equal(t, tc.next.Annotations[pub.RestartedAtKey], pod.Annotations[pub.RestartedAtKey])
		})
	}
}

// The container of the next batch restarts when the one before it is ready.
// Case inplace-update 23.
func TestContainersRestartByPriority(t *testing.T) {
	prioritized := func(t *corev1.PodTemplateSpec) {
		for i := range t.Spec.Containers {
			t.Spec.Containers[i].Env = []corev1.EnvVar{barrier(fmt.Sprint("p_", 10-i))}
		}
	}
	pod := runningPod("A")
	pod.Spec = template(prioritized).Spec
	require.NoError(t, planned(t, template(prioritized), restarted("1", prioritized)).Apply(pod, "rev2", now))
	waiting := func() []string {
		state, err := record.Read(pod)
		require.NoError(t, err)
		var names []string
		for name := range state.RestartContainers {
			names = append(names, name)
		}
		return names
	}
	assert.Equal(t, []string{"main"}, waiting())
	started(pod, "main", "B")
	report(t, pod)
	assert.Equal(t, Progress{}, progressOf(t, pod, 0), "it is not ready")
	containerStatus(pod, "main").Ready = true
	require.Equal(t, Progress{Next: true}, progressOf(t, pod, 0))
	require.NoError(t, Advance(pod, now))
	assert.Contains(t, waiting(), "side")
	assert.False(t, progressOf(t, pod, 0).Complete)
	started(pod, "side", "B")
	report(t, pod)
	assert.True(t, progressOf(t, pod, 0).Complete)
}

// Another update before the agent has restarted the container still waits for it.
func TestUnfinishedRestartOutlivesAnotherUpdate(t *testing.T) {
	pod := runningPod("A")
	require.NoError(t, planned(t, template(nil), restarted("1")).Apply(pod, "rev2", now))
	started(pod, "main", "B")
	require.NoError(t, planned(t, restarted("1"), restarted("1", func(t *corev1.PodTemplateSpec) { t.Labels["new"] = "1" })).Apply(pod, "rev3", now))
	state, err := record.Read(pod)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"side": "containerd://sideA"}, state.RestartContainers)
}
