package inplace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/launch"
)

func barrier(key string) corev1.EnvVar {
	return corev1.EnvVar{Name: pub.ContainerLaunchBarrierEnv, ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "p-barrier"}, Key: key},
	}}
}

func reads(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// podOf returns a Pod that runs one instance of each container, with the given environments.
func podOf(containers map[string][]corev1.EnvVar) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	for name, env := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Image: name + ":1", Env: env})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Image: name + ":1", ImageID: name + "@1", ContainerID: "test://" + name + "1", Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	return pod
}

// restart replaces an instance with one that runs the image in the spec.
func restart(pod *corev1.Pod, name, id string, ready bool) {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			s := containerStatus(pod, name)
			s.Image, s.ImageID, s.ContainerID, s.Ready = pod.Spec.Containers[i].Image, pod.Spec.Containers[i].Image, "test://"+id, ready
		}
	}
}

func TestPriority(t *testing.T) {
	literal := corev1.EnvVar{Name: pub.ContainerLaunchBarrierEnv, Value: "p_3"}
	tests := map[string]struct {
		env  []corev1.EnvVar
		want int
		has  bool
	}{
		"none":                         {nil, 0, false},
		"what the user wrote":          {[]corev1.EnvVar{{Name: pub.ContainerLaunchPriorityEnv, Value: "3"}}, 0, false},
		"a barrier":                    {[]corev1.EnvVar{barrier("p_3")}, 3, true},
		"a negative one":               {[]corev1.EnvVar{barrier("p_-2147483647")}, -2147483647, true},
		"the last of several":          {[]corev1.EnvVar{barrier("p_3"), barrier("p_4")}, 4, true},
		"no key of a barrier":          {[]corev1.EnvVar{literal}, 0, false},
		"a key of something else":      {[]corev1.EnvVar{barrier("c_3")}, 0, false},
		"a key that is not a priority": {[]corev1.EnvVar{barrier("p_high")}, 0, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, has := launch.Priority(&corev1.Container{Env: tc.env})
			assert.Equal(t, tc.has, has)
			if has {
				assert.Equal(t, tc.want, got)
			}
		})
	}
}

// Cases inplace-update 9, 11.
func TestContainersUpdateByPriority(t *testing.T) {
	both := map[string]string{"main": "main:2", "side": "side:2", "plain": "plain:2"}
	tests := map[string]struct {
		containers map[string][]corev1.EnvVar
		want       []string
	}{
		"the higher priority first": {
			map[string][]corev1.EnvVar{"side": {barrier("p_5")}, "main": {barrier("p_1")}}, []string{"side"},
		},
		"beside those without a priority": {
			map[string][]corev1.EnvVar{"side": {barrier("p_3")}, "main": {barrier("p_1")}, "plain": nil}, []string{"plain", "side"},
		},
		"equal ones together": {
			map[string][]corev1.EnvVar{"side": {barrier("p_-1")}, "main": {barrier("p_-1")}}, []string{"main", "side"},
		},
		"no priorities": {map[string][]corev1.EnvVar{"side": nil, "main": nil}, []string{"main", "side"}},
		"a negative one after none": {
			map[string][]corev1.EnvVar{"side": {barrier("p_-3")}, "main": {barrier("p_-1")}, "plain": nil}, []string{"main", "plain"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podOf(tc.containers)
			change := &Change{Images: pick(both, func(name string) bool { _, found := tc.containers[name]; return found })}
			turn, later := change.split(pod, nil)
			assert.Equal(t, tc.want, turn.names())
			assert.Len(t, later.names(), len(tc.containers)-len(tc.want))
		})
	}
}

// Cases inplace-update 9, 11b.
// Case container-launch-priority 19.
func TestNextTurnWaitsUntilTheLastIsReady(t *testing.T) {
	pod := podOf(map[string][]corev1.EnvVar{"side": {barrier("p_5")}, "main": {barrier("p_1")}})
	change := &Change{Images: map[string]string{"side": "side:2", "main": "main:2"}, Labels: MapChange{Set: map[string]string{"v": "2"}}}
	require.NoError(t, change.Apply(pod, "rev2", now))
	assert.JSONEq(t, `{"revision":"rev2","updateTimestamp":"2026-01-01T12:00:00Z","updateImages":true,
		"lastContainerStatuses":{"side":{"imageID":"side@1","containerID":"test://side1","image":"side:1"}},
		"nextContainerImages":{"main":"main:2"},"preCheckBeforeNext":{"containersRequiredReady":["side"]},
		"containerBatchesRecord":[{"timestamp":"2026-01-01T12:00:00Z","containers":["side"]}]}`, pod.Annotations[pub.InPlaceUpdateStateKey])
	assert.Equal(t, "2", pod.Labels["v"], "other metadata changes at once")
	evaluate := func() Progress {
		progress, err := Evaluate(pod, nil)
		require.NoError(t, err)
		return progress
	}
	assert.Equal(t, Progress{}, evaluate(), "side runs its old image")
	restart(pod, "side", "side2", false)
	assert.Equal(t, Progress{}, evaluate(), "side is not ready")
	restart(pod, "side", "side2", true)
	assert.Equal(t, Progress{Next: true}, evaluate())

	later := now.Add(time.Minute)
	require.NoError(t, Advance(pod, later))
	assert.JSONEq(t, `{"revision":"rev2","updateTimestamp":"2026-01-01T12:00:00Z","updateImages":true,
		"lastContainerStatuses":{"side":{"imageID":"side@1","containerID":"test://side1","image":"side:1"},
			"main":{"imageID":"main@1","containerID":"test://main1","image":"main:1"}},
		"containerBatchesRecord":[{"timestamp":"2026-01-01T12:00:00Z","containers":["side"]},
			{"timestamp":"2026-01-01T12:01:00Z","containers":["main"]}]}`, pod.Annotations[pub.InPlaceUpdateStateKey])
	assert.Equal(t, Progress{}, evaluate())
	restart(pod, "main", "main2", false)
	assert.Equal(t, Progress{Complete: true}, evaluate(), "whether the last one is ready is not the update's affair")
	assert.ErrorContains(t, Advance(pod, later), "no container waits")
}

// Case container-launch-priority 20.
func TestHigherContainerThatOnlyReadsMetadataIsFirst(t *testing.T) {
	pod := podOf(map[string][]corev1.EnvVar{"main": {barrier("p_0")}, "side": {barrier("p_10"), reads("K", "metadata.annotations['k']")}})
	from, to := &corev1.PodTemplateSpec{Spec: pod.Spec}, &corev1.PodTemplateSpec{Spec: *pod.Spec.DeepCopy()}
	to.Annotations = map[string]string{"k": "2"}
	for i := range to.Spec.Containers {
		if to.Spec.Containers[i].Name == "main" {
			to.Spec.Containers[i].Image = "main:2"
		}
	}
	change, ok := Plan(from, to, Options{EnvFromMetadata: true})
	require.True(t, ok)
	turn, later := change.split(pod, nil)
	assert.Equal(t, []string{"side"}, turn.names())
	assert.Equal(t, []string{"main"}, later.names())
}

// Case inplace-update 10.
func TestSharedMetadataIsOneTurn(t *testing.T) {
	label := reads("K", "metadata.labels['k']")
	tests := map[string]struct {
		containers map[string][]corev1.EnvVar
		labels     map[string]string
		want       []string
	}{
		"both read the key": {
			map[string][]corev1.EnvVar{"a": {barrier("p_5"), label}, "b": {barrier("p_1"), label}}, map[string]string{"k": "2"}, []string{"a", "b"},
		},
		"each reads a key of its own": {
			map[string][]corev1.EnvVar{"a": {barrier("p_5"), label}, "b": {barrier("p_1"), reads("J", "metadata.labels['j']")}},
			map[string]string{"k": "2", "j": "2"}, []string{"a"},
		},
		"through a third": {
			map[string][]corev1.EnvVar{
				"a": {barrier("p_5"), label}, "b": {barrier("p_3"), label, reads("J", "metadata.labels['j']")},
				"c": {barrier("p_1"), reads("J", "metadata.labels['j']")},
			},
			map[string]string{"k": "2", "j": "2"}, []string{"a", "b", "c"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podOf(tc.containers)
			from, to := &corev1.PodTemplateSpec{Spec: pod.Spec}, &corev1.PodTemplateSpec{Spec: pod.Spec}
			to.Labels = tc.labels
			change, ok := Plan(from, to, Options{EnvFromMetadata: true})
			require.True(t, ok)
			turn, _ := change.split(pod, nil)
			assert.Equal(t, tc.want, turn.names())
			require.NoError(t, change.Apply(pod, "rev2", now))
			assert.Equal(t, "2", pod.Labels["k"])
		})
	}
}

// A later batch that only changes resources, or only metadata, is a batch as well.
func TestEveryKindOfChangeIsBatched(t *testing.T) {
	pod := podOf(map[string][]corev1.EnvVar{
		"side": {barrier("p_5")}, "main": {barrier("p_1"), reads("K", "metadata.labels['k']")}, "slow": {barrier("p_0")},
	})
	change := &Change{
		Images: map[string]string{"side": "side:2"}, Env: map[string]metav1.ObjectMeta{"main": {Labels: map[string]string{"k": "2"}}},
		Resources: map[string]corev1.ResourceRequirements{"slow": cpu("200m")},
	}
	require.NoError(t, change.Apply(pod, "rev2", now))
	assert.NotContains(t, pod.Labels, "k", "metadata that a later container reads waits for it")
	restart(pod, "side", "side2", true)
	next := func() Progress {
		progress, err := Evaluate(pod, nil)
		require.NoError(t, err)
		return progress
	}
	report(t, pod)
	setResources(pod)
	require.True(t, next().Next)
	require.NoError(t, Advance(pod, now))
	assert.Equal(t, "2", pod.Labels["k"])
	assert.Equal(t, Progress{}, next(), "main still has the old value")
	restart(pod, "main", "main2", true)
	report(t, pod)
	require.True(t, next().Next)
	require.NoError(t, Advance(pod, now))
	assert.Equal(t, Progress{}, next(), "slow has the old amount")
	setResources(pod)
	assert.True(t, next().Complete)
}

// An update that arrives while a container waits for its batch is the difference from a revision that the container never
// reached.
func TestWaitingChangesAreKept(t *testing.T) {
	start := func() *corev1.Pod {
		pod := podOf(map[string][]corev1.EnvVar{"side": {barrier("p_5")}, "main": {barrier("p_1"), reads("K", "metadata.labels['k']")}})
		first := &Change{
			Images: map[string]string{"side": "side:2", "main": "main:2"}, Env: map[string]metav1.ObjectMeta{"main": {Labels: map[string]string{"k": "2"}}},
			Resources: map[string]corev1.ResourceRequirements{"main": cpu("200m")},
		}
		require.NoError(t, first.Apply(pod, "rev2", now))
		require.Equal(t, "main:1", imageOf(pod, "main"))
		return pod
	}
	finish := func(pod *corev1.Pod) {
		for range 3 {
			for _, c := range pod.Spec.Containers {
				restart(pod, c.Name, c.Image, true)
			}
			setResources(pod)
			report(t, pod)
			progress, err := Evaluate(pod, nil)
			require.NoError(t, err)
			if progress.Complete {
				return
			}
			require.True(t, progress.Next)
			require.NoError(t, Advance(pod, now))
		}
		require.Fail(t, "it never completes")
	}
	tests := map[string]struct {
		second                       *Change
		side, main, label, processor string
	}{
		"another image of the first": {&Change{Images: map[string]string{"side": "side:3"}}, "side:3", "main:2", "2", "200m"},
		"metadata":                   {&Change{Labels: MapChange{Set: map[string]string{"x": "1"}}}, "side:2", "main:2", "2", "200m"},
		"back": {&Change{
			Images: map[string]string{"side": "side:1", "main": "main:1"}, Labels: MapChange{Remove: []string{"k"}},
			Resources: map[string]corev1.ResourceRequirements{"main": cpu("100m")},
		}, "side:1", "main:1", "", "100m"},
		"on": {&Change{
			Images: map[string]string{"main": "main:3"}, Env: map[string]metav1.ObjectMeta{"main": {Labels: map[string]string{"k": "3"}}},
		}, "side:2", "main:3", "3", "200m"},
	}
	for name, tc := range tests {
		for _, grace := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				pod := start()
				if grace {
					require.NoError(t, tc.second.Delay(pod, "rev3", 30, now))
					_, err := Resume(pod, func(string) bool { return true }, now.Add(time.Minute))
					require.NoError(t, err)
				} else {
					require.NoError(t, tc.second.Apply(pod, "rev3", now))
				}
				finish(pod)
				assert.Equal(t, tc.side, imageOf(pod, "side"))
				assert.Equal(t, tc.main, imageOf(pod, "main"))
				assert.Equal(t, tc.label, pod.Labels["k"])
				for _, c := range pod.Spec.Containers {
					if c.Name == "main" {
						assert.Equal(t, tc.processor, c.Resources.Requests.Cpu().String())
					}
				}
			})
		}
	}
}

func imageOf(pod *corev1.Pod, name string) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == name {
			return c.Image
		}
	}
	return ""
}

// A container that waits for its batch waits on when another update comes, until the batch before it is ready.
// Cases inplace-update 9, 11b.
func TestOrderOutlivesAnotherUpdate(t *testing.T) {
	metadata := &Change{Labels: MapChange{Set: map[string]string{"x": "1"}}}
	tests := map[string]struct {
		containers map[string][]corev1.EnvVar
		second     *Change
		ready      bool
		want       map[string]string
	}{
		"metadata":                       {nil, metadata, false, map[string]string{"side": "side:2", "main": "main:1"}},
		"metadata, and the side works":   {nil, metadata, true, map[string]string{"side": "side:2", "main": "main:2"}},
		"another image of the main one":  {nil, &Change{Images: map[string]string{"main": "main:3"}}, false, map[string]string{"side": "side:2", "main": "main:1"}},
		"another image of the side":      {nil, &Change{Images: map[string]string{"side": "side:3"}}, false, map[string]string{"side": "side:3", "main": "main:1"}},
		"an image of a higher container": {nil, &Change{Images: map[string]string{"top": "top:2"}}, false, map[string]string{"top": "top:2", "main": "main:1"}},
		"without a priority":             {nil, &Change{Images: map[string]string{"plain": "plain:2"}}, false, map[string]string{"plain": "plain:2", "main": "main:1"}},
		"the side has no priority": {
			map[string][]corev1.EnvVar{"side": nil, "main": {barrier("p_1")}, "low": {barrier("p_0")}}, metadata, false, map[string]string{"main": "main:2", "low": "low:1"},
		},
	}
	for name, tc := range tests {
		for _, grace := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				containers := tc.containers
				if containers == nil {
					containers = map[string][]corev1.EnvVar{"top": {barrier("p_9")}, "side": {barrier("p_5")}, "main": {barrier("p_1")}, "plain": nil}
				}
				pod := podOf(containers)
				first := &Change{Images: map[string]string{"side": "side:2", "main": "main:2"}}
				if _, found := containers["low"]; found {
					first.Images["low"] = "low:2"
				}
				require.NoError(t, first.Apply(pod, "rev2", now))
				if tc.containers != nil { // The main one changed together with the side, and works.
					restart(pod, "main", "main2", true)
				}
				restart(pod, "side", "side2", tc.ready)
				if grace {
					require.NoError(t, tc.second.Delay(pod, "rev3", 30, now))
					_, err := Resume(pod, func(string) bool { return true }, now.Add(time.Minute))
					require.NoError(t, err)
				} else {
					require.NoError(t, tc.second.Apply(pod, "rev3", now))
				}
				for container, image := range tc.want {
					assert.Equal(t, image, imageOf(pod, container), container)
				}
			})
		}
	}
}

// A container whose last image never started gets the next one when its turn comes.
// Case inplace-update 11b.
func TestContainerThatCannotStartDoesNotHoldItsOwnTurn(t *testing.T) {
	pod := podOf(map[string][]corev1.EnvVar{"side": {barrier("p_5")}, "main": {barrier("p_1")}})
	require.NoError(t, (&Change{Images: map[string]string{"side": "side:2", "main": "main:bad"}}).Apply(pod, "rev2", now))
	restart(pod, "side", "side2", true)
	require.NoError(t, Advance(pod, now))
	status := containerStatus(pod, "main")
	status.Ready, status.State = false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	require.NoError(t, (&Change{Images: map[string]string{"side": "side:1", "main": "main:1"}}).Apply(pod, "rev1", now))
	restart(pod, "side", "side3", true)
	evaluate := func() Progress {
		progress, err := Evaluate(pod, nil)
		require.NoError(t, err)
		return progress
	}
	require.True(t, evaluate().Next)
	require.NoError(t, Advance(pod, now))
	assert.False(t, evaluate().Complete)
	restart(pod, "main", "main2", true)
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	assert.True(t, evaluate().Complete)
}

// What the first update began is waited for, although its container waits for its batch in the second one when the third one comes.
func TestUnfinishedResourcesOutliveTwoUpdates(t *testing.T) {
	pod := podOf(map[string][]corev1.EnvVar{"side": {barrier("p_5")}, "main": {barrier("p_1")}})
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Resources = cpu("100m")
	}
	setResources(pod)
	require.NoError(t, (&Change{Resources: map[string]corev1.ResourceRequirements{"main": cpu("200m")}}).Apply(pod, "rev2", now))
	require.NoError(t, (&Change{Images: map[string]string{"side": "side:2", "main": "main:2"}}).Apply(pod, "rev3", now))
	require.NoError(t, (&Change{Labels: MapChange{Set: map[string]string{"x": "1"}}}).Apply(pod, "rev4", now))
	restart(pod, "side", "side2", true)
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	require.True(t, progress.Next)
	require.NoError(t, Advance(pod, now))
	restart(pod, "main", "main2", true)
	progress, err = Evaluate(pod, nil)
	require.NoError(t, err)
	assert.False(t, progress.Complete, "main has its old amount")
	setResources(pod)
	progress, err = Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete)
}
