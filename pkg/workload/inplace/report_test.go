package inplace

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/workload/inplace/record"
)

// report writes a report in which every instance was started with the Pod's current values, unless edits change it.
func report(t *testing.T, pod *corev1.Pod, edits ...func(*containerreport.Container)) {
	t.Helper()
	var r containerreport.Report
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		entry := containerreport.Container{Name: c.Name, ContainerID: containerStatus(pod, c.Name).ContainerID}
		entry.Hashes.ExtractedEnvFromMetadataHash = containerreport.Expected(containerreport.VariablesOf(c), pod.Labels, pod.Annotations)
		for _, edit := range edits {
			edit(&entry)
		}
		r.Containers = append(r.Containers, entry)
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, pub.RuntimeContainerMetaKey, string(text))
}

func hashed(hash uint64) func(*containerreport.Container) {
	return func(c *containerreport.Container) { c.Hashes.PlainHash = hash }
}

func from(image string) func(*containerreport.Container) {
	return func(c *containerreport.Container) { c.Image = image }
}

// instanceID sets the instance of an entry.
func instanceID(id string) func(*containerreport.Container) {
	return func(c *containerreport.Container) { c.ContainerID = "containerd://main" + id }
}

// Cases inplace-update 13, 15.
func TestEvaluateWithAReport(t *testing.T) {
	type entry = []func(*containerreport.Container)
	tests := map[string]struct {
		update string
		// before and after are the reports on instances A and B.
		before, after entry
		// image is the image in the status of instance B.
		image   string
		watched time.Duration
		want    Progress
	}{
		"the new image, by name and hash":           {"main:2", entry{hashed(1)}, entry{hashed(2)}, "main:2", 0, Progress{Complete: true}},
		"the status names the old tag":              {"main:2", entry{hashed(1)}, entry{hashed(2)}, "main:1", 0, Progress{Complete: true}},
		"a crash: the status names the new tag":     {"main:2", entry{hashed(1)}, entry{hashed(1)}, "main:2", time.Hour, Progress{}},
		"the runtime keeps the reference":           {"main:2", nil, entry{from("main:2")}, "sha256:x", 0, Progress{Complete: true}},
		"and it is the old one":                     {"main:2", nil, entry{from("main:1")}, "main:2", time.Hour, Progress{}},
		"the agent is late":                         {"main:2", nil, entry{instanceID("A")}, "main:2", 4 * time.Second, Progress{Recheck: 6 * time.Second}},
		"the agent is gone":                         {"main:2", nil, entry{instanceID("A")}, "main:2", 10 * time.Second, Progress{Complete: true}},
		"it is gone and no name says it":            {"main:2", nil, entry{instanceID("A")}, "main:1", 39 * time.Second, Progress{Recheck: time.Second}},
		"nothing known of the old one, by its name": {"main:2", nil, entry{hashed(2)}, "main:2", 0, Progress{Complete: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := runningPod("A")
			if tc.before != nil {
				report(t, pod, tc.before...)
			}
			require.NoError(t, images(tc.update).Apply(pod, "rev2", now))
			setMain(pod, "B", tc.image, "m@sha256:1")
			report(t, pod, tc.after...)
			progress, err := Evaluate(pod, func(string) time.Duration { return tc.watched })
			require.NoError(t, err)
			assert.Equal(t, tc.want, progress)
		})
	}
}

// The hash of an instance proves nothing about a spec that is newer than the one it was recorded for.
func TestOldHashDoesNotProveAnUpdate(t *testing.T) {
	pod := runningPod("A")
	report(t, pod, hashed(1))
	require.NoError(t, images("main:2").Apply(pod, "rev2", now))
	setMain(pod, "B", "main:1", "m@sha256:1")
	require.NoError(t, images("main:3").Apply(pod, "rev3", now))
	setMain(pod, "C", "main:1", "m@sha256:1")
	report(t, pod, hashed(2))
	progress, err := Evaluate(pod, func(string) time.Duration { return 0 })
	require.NoError(t, err)
	assert.False(t, progress.Complete, "C may be of the second image")
	setMain(pod, "D", "main:3", "m@sha256:1")
	report(t, pod, hashed(3))
	progress, err = Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete)
}

func TestRollbackIsProvedByTheFirstHash(t *testing.T) {
	pod := runningPod("A")
	report(t, pod, hashed(1))
	require.NoError(t, images("main:2").Apply(pod, "rev2", now))
	require.NoError(t, images("main:1").Apply(pod, "rev1", now))
	setMain(pod, "B", "sha256:x", "m@sha256:1")
	report(t, pod, hashed(1))
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete)
}

// Case inplace-update 5.
func TestEnvFromMetadataWaitsForItsHash(t *testing.T) {
	before := template(func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Env = []corev1.EnvVar{reads("V", "metadata.annotations['v']"), reads("L", "metadata.labels['l']")}
		t.Labels["gone"], t.Labels["other"] = "1", "1"
	})
	after := before.DeepCopy()
	after.Annotations["v"], after.Labels["l"], after.Labels["other"] = "2", "new", "2"
	delete(after.Labels, "gone")
	change, ok := Plan(before, after, Options{EnvFromMetadata: true})
	require.True(t, ok)
	assert.Equal(t, map[string]metav1.ObjectMeta{
		"main": {Labels: map[string]string{"l": "new"}, Annotations: map[string]string{"v": "2"}},
	}, change.Env)
	assert.Equal(t, MapChange{Set: map[string]string{"other": "2"}, Remove: []string{"gone"}}, change.Labels)
	assert.Empty(t, change.Annotations.Set)

	pod := runningPod("A")
	pod.Spec.Containers[0].Env = before.Spec.Containers[0].Env
	assert.True(t, change.Interrupts(pod))
	report(t, pod)
	require.NoError(t, change.Apply(pod, "rev2", now))
	assert.Equal(t, "2", pod.Annotations["v"])
	assert.Equal(t, "new", pod.Labels["l"])
	assert.Contains(t, pod.Annotations[pub.InPlaceUpdateStateKey], `"updateEnvFromMetadata":true`)
	assert.Contains(t, pod.Annotations[pub.InPlaceUpdateStateKey], `"lastContainerStatuses":null`, "no image changes")
	evaluate := func(watched Watched) Progress {
		progress, err := Evaluate(pod, watched)
		require.NoError(t, err)
		return progress
	}
	assert.Equal(t, Progress{}, evaluate(nil), "it was started with the old values")
	setMain(pod, "B", "main:1", "m@sha256:1")
	assert.Equal(t, Progress{}, evaluate(func(string) time.Duration { return time.Hour }), "nothing but the agent's word counts")
	report(t, pod, instanceID("A"))
	assert.Equal(t, Progress{}, evaluate(nil), "it is the word on another instance")
	report(t, pod)
	assert.Equal(t, Progress{Complete: true}, evaluate(nil))

	delete(pod.Annotations, pub.RuntimeContainerMetaKey)
	assert.Equal(t, Progress{}, evaluate(nil))
	assert.Equal(t, Progress{Recheck: 10 * time.Second}, evaluate(func(string) time.Duration { return 30 * time.Second }))
	assert.Contains(t, evaluate(func(string) time.Duration { return 40 * time.Second }).Hopeless, "no node agent")
}

// Case inplace-update 6.
func TestEnvFromMetadataIsPlainMetadataWithTheGateOff(t *testing.T) {
	before := template(func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Env = []corev1.EnvVar{reads("V", "metadata.annotations['v']")}
	})
	after := before.DeepCopy()
	after.Annotations["v"] = "2"
	change, ok := Plan(before, after, Options{})
	require.True(t, ok)
	assert.False(t, change.TouchesContainers())
	assert.Equal(t, map[string]string{"v": "2"}, change.Annotations.Set)
}

// A grace period keeps every part of the change.
func TestGraceKeepsEveryKindOfChange(t *testing.T) {
	pod := podOf(map[string][]corev1.EnvVar{"main": {reads("K", "metadata.labels['k']")}})
	change := &Change{
		Images: map[string]string{"main": "main:2"}, Env: map[string]metav1.ObjectMeta{"main": {Labels: map[string]string{"k": "2"}}},
		Resources: map[string]corev1.ResourceRequirements{"main": cpu("200m")},
	}
	require.NoError(t, change.Delay(pod, "rev2", 30, now))
	assert.NotContains(t, pod.Labels, "k")
	_, err := Resume(pod, func(string) bool { return true }, now.Add(time.Minute))
	require.NoError(t, err)
	assert.Equal(t, "2", pod.Labels["k"])
	assert.Equal(t, "main:2", pod.Spec.Containers[0].Image)
	assert.Equal(t, "200m", pod.Spec.Containers[0].Resources.Requests.Cpu().String())
	state, err := record.Read(pod)
	require.NoError(t, err)
	assert.True(t, state.UpdateEnvFromMetadata && state.UpdateImages && state.UpdateResources)
}

// A restart for changed metadata that is still due is waited for, whatever the next update changes.
func TestNextUpdateWaitsForTheRestartThatIsDue(t *testing.T) {
	before := template(func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Env = []corev1.EnvVar{reads("V", "metadata.annotations['v']")}
	})
	after := before.DeepCopy()
	after.Annotations["v"] = "2"
	first, ok := Plan(before, after, Options{EnvFromMetadata: true})
	require.True(t, ok)
	for name, second := range map[string]*Change{
		"metadata":                   {Labels: MapChange{Set: map[string]string{"x": "1"}}},
		"an image of another":        {Images: map[string]string{"side": "side:2"}},
		"resources of another":       {Resources: map[string]corev1.ResourceRequirements{"side": {}}},
		"the metadata that it reads": {Env: map[string]metav1.ObjectMeta{"main": {Annotations: map[string]string{"v": "3"}}}},
	} {
		for _, grace := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				pod := runningPod("A")
				pod.Spec.Containers[0].Env = before.Spec.Containers[0].Env
				report(t, pod)
				require.NoError(t, first.Apply(pod, "rev2", now))
				if grace {
					require.NoError(t, second.Delay(pod, "rev3", 30, now))
					_, err := Resume(pod, func(string) bool { return true }, now.Add(time.Minute))
					require.NoError(t, err)
				} else {
					require.NoError(t, second.Apply(pod, "rev3", now))
				}
				for i := range pod.Status.ContainerStatuses {
					if status := &pod.Status.ContainerStatuses[i]; status.Name == "side" {
						status.Image, status.ImageID, status.ContainerID = pod.Spec.Containers[i].Image, "side@2", "containerd://sideB"
					}
				}
				evaluate := func() bool {
					progress, err := Evaluate(pod, nil)
					require.NoError(t, err)
					return progress.Complete
				}
				assert.False(t, evaluate(), "main was started with the old value")
				setMain(pod, "B", "main:1", "m@sha256:1")
				report(t, pod)
				assert.True(t, evaluate())
			})
		}
	}
}
