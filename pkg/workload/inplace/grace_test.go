package inplace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// Case inplace-update 7.
func TestGracePrecedesTheNewImage(t *testing.T) {
	pod := runningPod("A")
	change := images("main:2")
	change.Labels = MapChange{Set: map[string]string{"new": "1"}, Remove: []string{"app"}}
	require.NoError(t, change.Delay(pod, "rev2", 30, now))
	assert.Equal(t, "main:1", pod.Spec.Containers[0].Image)
	assert.Contains(t, pod.Annotations[pub.InPlaceUpdateGraceKey], `"revision":"rev2","containerImages":{"main":"main:2"}`)
	assert.Contains(t, pod.Annotations[pub.InPlaceUpdateGraceKey], `"graceSeconds":30`)
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.False(t, progress.Complete)

	at := func(revision string) bool { return revision == "rev2" }
	remaining, err := Resume(pod, at, now.Add(28500*time.Millisecond))
	require.NoError(t, err)
	assert.Equal(t, 2*time.Second, remaining)
	assert.Equal(t, "main:1", pod.Spec.Containers[0].Image)

	remaining, err = Resume(pod, at, now.Add(30*time.Second))
	require.NoError(t, err)
	assert.Zero(t, remaining)
	assert.Equal(t, "main:2", pod.Spec.Containers[0].Image)
	assert.Equal(t, map[string]string{"new": "1", "other": "kept"}, pod.Labels)
	assert.False(t, Delayed(pod))
	state, err := record.Read(pod)
	require.NoError(t, err)
	assert.Equal(t, "containerd://mainA", state.LastContainerStatuses["main"].ContainerID)
	assert.True(t, state.UpdateTimestamp.Time.Equal(now), "the update began when the Pod went out of service")
	assert.True(t, state.ContainerBatchesRecord[0].Timestamp.Time.Equal(now.Add(30*time.Second)))
}

// Case inplace-update 8.
func TestChangeTakesThePlaceOfTheOneThatWaits(t *testing.T) {
	waiting := images("main:2")
	waiting.Labels = MapChange{Set: map[string]string{"new": "1"}, Remove: []string{"app"}}
	delayed := func() *corev1.Pod {
		pod := runningPod("A")
		require.NoError(t, waiting.Delay(pod, "rev2", 30, now))
		pod.Labels[pub.ControllerRevisionHashKey] = "rev2"
		return pod
	}

	// Back to what runs: the difference from the waiting revision is an image that the Pod has.
	back := images("main:1")
	back.Labels = MapChange{Set: map[string]string{"app": runningPod("A").Labels["app"]}, Remove: []string{"new"}}
	pod := delayed()
	change, err := back.Instead(pod)
	require.NoError(t, err)
	assert.False(t, change.TouchesContainers())
	require.NoError(t, change.Apply(pod, "rev1", now.Add(time.Second)))
	assert.False(t, Delayed(pod))
	assert.Equal(t, runningPod("A").Spec, pod.Spec)
	assert.Equal(t, runningPod("A").Labels["app"], pod.Labels["app"])
	assert.NotContains(t, pod.Labels, "new")

	// A third revision has the rest of the second, and its clock.
	pod = delayed()
	change, err = (&Change{Annotations: MapChange{Set: map[string]string{"third": "3"}}}).Instead(pod)
	require.NoError(t, err)
	require.NoError(t, change.Delay(pod, "rev3", 30, now.Add(20*time.Second)))
	_, err = Resume(pod, func(revision string) bool { return revision == "rev3" }, now.Add(30*time.Second))
	require.NoError(t, err)
	assert.Equal(t, "main:2", pod.Spec.Containers[0].Image)
	assert.Equal(t, "1", pod.Labels["new"])
	assert.Equal(t, "3", pod.Annotations["third"])

	// What cannot be read cannot be replaced.
	pod = delayed()
	pod.Annotations[pub.InPlaceUpdateGraceKey] = "{"
	_, err = back.Instead(pod)
	require.ErrorIs(t, err, ErrUnreadable)
	change, err = back.Instead(runningPod("A"))
	require.NoError(t, err)
	assert.Same(t, back, change, "nothing waits")
}

// Case inplace-update 8.
func TestReplacedGraceIsDropped(t *testing.T) {
	pod := runningPod("A")
	require.NoError(t, images("main:2").Delay(pod, "rev2", 0, now))
	_, err := Resume(pod, func(string) bool { return false }, now.Add(time.Hour))
	require.NoError(t, err)
	assert.False(t, Delayed(pod))
	assert.Equal(t, "main:1", pod.Spec.Containers[0].Image)
}

// The Pod has the label of the new revision, so nobody would update it again.
// Case inplace-update 8.
func TestGraceThatCannotBeReadIsAnError(t *testing.T) {
	for name, annotation := range map[string]string{
		"broken": "{", "null": "null", "broken patch": `{"revision":"rev2","metaDataPatch":"eA=="}`,
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningPod("A")
			require.NoError(t, images("main:2").Delay(pod, "rev2", 0, now))
			pod.Annotations[pub.InPlaceUpdateGraceKey] = annotation
			_, err := Resume(pod, func(string) bool { return true }, now.Add(time.Hour))
			require.ErrorIs(t, err, ErrUnreadable)
		})
	}
}

func TestGraceBeginsAgainWithoutTheTimeOfItsBegin(t *testing.T) {
	for name, edit := range map[string]func(annotations map[string]string){
		"missing": func(annotations map[string]string) { delete(annotations, pub.InPlaceUpdateStateKey) },
		"broken":  func(annotations map[string]string) { annotations[pub.InPlaceUpdateStateKey] = "{" },
	} {
		t.Run(name, func(t *testing.T) {
			pod, at := runningPod("A"), func(string) bool { return true }
			require.NoError(t, images("main:2").Delay(pod, "rev2", 30, now))
			edit(pod.Annotations)
			later := now.Add(time.Hour)
			_, err := Resume(pod, at, later)
			require.NoError(t, err)
			assert.Equal(t, "main:1", pod.Spec.Containers[0].Image)
			remaining, err := Resume(pod, at, later.Add(29*time.Second))
			require.NoError(t, err)
			assert.Equal(t, time.Second, remaining)
			_, err = Resume(pod, at, later.Add(30*time.Second))
			require.NoError(t, err)
			assert.Equal(t, "main:2", pod.Spec.Containers[0].Image)
			assert.False(t, Delayed(pod))
		})
	}
}

// The record has whole seconds, but endpoints still get the whole grace period.
func TestGraceIsNotShortened(t *testing.T) {
	for _, begin := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond} {
		pod, began := runningPod("A"), now.Truncate(time.Second).Add(begin)
		require.NoError(t, images("main:2").Delay(pod, "rev2", 3, began))
		_, err := Resume(pod, func(string) bool { return true }, began.Add(3*time.Second-time.Millisecond))
		require.NoError(t, err)
		assert.True(t, Delayed(pod), begin)
		_, err = Resume(pod, func(string) bool { return true }, began.Add(4*time.Second))
		require.NoError(t, err)
		assert.False(t, Delayed(pod), begin)
	}
}

// A change whose grace period is over may be refused. The next template corrects it, and has the rest of it.
func TestNextUpdateHasTheDelayedChange(t *testing.T) {
	for _, grace := range []bool{false, true} {
		pod := podOf(map[string][]corev1.EnvVar{"main": nil, "side": nil})
		pod.Labels = map[string]string{"controller-revision-hash": "rev2", "old": "1"}
		first := &Change{
			Images: map[string]string{"main": "main:bad", "side": "side:2"},
			Labels: MapChange{Set: map[string]string{"v": "2", "w": "2"}, Remove: []string{"old"}},
		}
		require.NoError(t, first.Delay(pod, "rev2", 30, now))
		second := &Change{Images: map[string]string{"main": "main:3"}, Labels: MapChange{Set: map[string]string{"w": "3"}}}
		if grace {
			require.NoError(t, second.Delay(pod, "rev3", 30, now))
			_, err := Resume(pod, func(string) bool { return true }, now.Add(time.Minute))
			require.NoError(t, err)
		} else {
			require.NoError(t, second.Apply(pod, "rev3", now))
		}
		assert.Equal(t, "main:3", imageOf(pod, "main"))
		assert.Equal(t, "side:2", imageOf(pod, "side"))
		assert.Equal(t, map[string]string{"controller-revision-hash": "rev2", "v": "2", "w": "3"}, pod.Labels)
	}
}
