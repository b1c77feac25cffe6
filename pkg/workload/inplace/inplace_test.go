package inplace

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func template(edit func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}, Annotations: map[string]string{"v": "1"}},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init", Image: "init:1"}},
			Containers:     []corev1.Container{{Name: "main", Image: "main:1"}, {Name: "side", Image: "side:1"}},
		},
	}
	if edit != nil {
		edit(t)
	}
	return t
}

// Cases inplace-update 1, 2, 3, 19, 20.
func TestPlan(t *testing.T) {
	tests := map[string]struct {
		edit   func(*corev1.PodTemplateSpec)
		want   bool
		images map[string]string
	}{
		"an image": {func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "main:2" }, true, map[string]string{"main": "main:2"}},
		"an image and an env": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Image = "main:2"
			t.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
		}, false, nil},
		"a label": {func(t *corev1.PodTemplateSpec) { t.Labels["new"] = "1" }, true, map[string]string{}},
		"resources added": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1")}
		}, false, nil},
		"containers change places": {func(t *corev1.PodTemplateSpec) {
			c := t.Spec.Containers
			c[0], c[1] = c[1], c[0]
		}, false, nil},
		"a container more": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "x"})
		}, false, nil},
		"an init container's image": {func(t *corev1.PodTemplateSpec) { t.Spec.InitContainers[0].Image = "init:2" }, false, nil},
		"an image taken away":       {func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "" }, false, nil},
		"nothing":                   {nil, true, map[string]string{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			change, ok := Plan(template(nil), template(tc.edit), Options{})
			require.Equal(t, tc.want, ok)
			if ok {
				assert.Equal(t, tc.images, change.Images)
			}
		})
	}
}

// Case cloneset 36.
func TestTemplatesWithoutMetadataCanBePlanned(t *testing.T) {
	bare := &corev1.PodTemplateSpec{}
	change, ok := Plan(bare, bare, Options{})
	require.True(t, ok)
	pod := &corev1.Pod{}
	require.NoError(t, change.Apply(pod, "rev", now))
	assert.Contains(t, pod.Annotations, pub.InPlaceUpdateStateKey)
}

// runningPod returns a Pod whose containers run what their spec says. The suffix identifies the instances.
func runningPod(instance string) *corev1.Pod {
	tpl := template(nil)
	pod := &corev1.Pod{ObjectMeta: tpl.ObjectMeta, Spec: tpl.Spec}
	pod.Labels["other"] = "kept"
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: "docker.io/library/" + c.Image, ImageID: c.Image + "@sha256:1",
			ContainerID: "containerd://" + c.Name + instance, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	return pod
}

func setMain(pod *corev1.Pod, instance, image, imageID string) {
	s := &pod.Status.ContainerStatuses[0]
	s.ContainerID, s.Image, s.ImageID = "containerd://main"+instance, image, imageID
}

func images(image string) *Change { return &Change{Images: map[string]string{"main": image}} }

// Cases inplace-update 3, 4.
func TestMetadataAloneIsCompleteAtOnce(t *testing.T) {
	change, ok := Plan(template(nil), template(func(t *corev1.PodTemplateSpec) {
		t.Labels["new"] = "1"
		delete(t.Labels, "app")
	}), Options{})
	require.True(t, ok)
	pod := runningPod("A")
	require.NoError(t, change.Apply(pod, "rev2", now))
	assert.Equal(t, map[string]string{"new": "1", "other": "kept"}, pod.Labels)
	assert.JSONEq(t, `{"revision":"rev2","updateTimestamp":"2026-01-01T12:00:00Z","lastContainerStatuses":null}`, pod.Annotations[pub.InPlaceUpdateStateKey])
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete)
}

func TestApplyRecordsWhatRan(t *testing.T) {
	pod := runningPod("A")
	pod.Annotations["inplace-update-state"] = `{"revision":"old"}`
	require.NoError(t, images("main:2").Apply(pod, "rev2", now))
	assert.Equal(t, "main:2", pod.Spec.Containers[0].Image)
	assert.Equal(t, "side:1", pod.Spec.Containers[1].Image)
	assert.NotContains(t, pod.Annotations, "inplace-update-state")
	assert.JSONEq(t, `{"revision":"rev2","updateTimestamp":"2026-01-01T12:00:00Z","updateImages":true,
		"lastContainerStatuses":{"main":{"imageID":"main:1@sha256:1","containerID":"containerd://mainA","image":"main:1"}},
		"containerBatchesRecord":[{"timestamp":"2026-01-01T12:00:00Z","containers":["main"]}]}`, pod.Annotations[pub.InPlaceUpdateStateKey])
}

// Cases inplace-update 1, 12, 13, 14.
func TestEvaluate(t *testing.T) {
	digest := "sha256:" + strings.Repeat("2", 64)
	const later = 41 * time.Second
	tests := map[string]struct {
		update string
		report func(*corev1.Pod)
		after  time.Duration
		want   bool
	}{
		"nothing happened yet":                     {"main:2", func(*corev1.Pod) {}, 0, false},
		"the new image runs":                       {"main:2", func(p *corev1.Pod) { setMain(p, "B", "docker.io/library/main:2", "m@sha256:2") }, 0, true},
		"restarted with the old image":             {"main:2", func(p *corev1.Pod) { setMain(p, "B", "docker.io/library/main:1", "main:1@sha256:1") }, 0, false},
		"the same instance never is, however long": {"main:2", func(*corev1.Pod) {}, later, false},
		":latest written out": {"main:latest", func(p *corev1.Pod) {
			setMain(p, "B", "docker.io/library/main:latest", "main:1@sha256:1")
		}, 0, true},
		"the same digest under a new tag":            {"main:2", func(p *corev1.Pod) { setMain(p, "B", "docker.io/library/main:2", "main:1@sha256:1") }, 0, true},
		"no status":                                  {"main:2", func(p *corev1.Pod) { p.Status.ContainerStatuses = p.Status.ContainerStatuses[1:] }, later, false},
		"same digest, the runtime names the old tag": {"main:2", func(p *corev1.Pod) { setMain(p, "B", "docker.io/library/main:1", "main:1@sha256:1") }, later, true},
		"the node has not seen the spec": {"main:2", func(p *corev1.Pod) {
			setMain(p, "B", "main:2", "m@sha256:2")
			p.Generation, p.Status.ObservedGeneration = 2, 1
		}, later, false},
		"the node has seen the spec": {"main:2", func(p *corev1.Pod) {
			setMain(p, "B", "main:2", "m@sha256:2")
			p.Generation, p.Status.ObservedGeneration = 2, 2
		}, 0, true},
		"by digest": {"main@" + digest, func(p *corev1.Pod) { setMain(p, "B", "sha256:cfg", "docker.io/library/main@"+digest) }, 0, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := runningPod("A")
			require.NoError(t, images(tc.update).Apply(pod, "rev2", now))
			tc.report(pod)
			progress, err := Evaluate(pod, func(string) time.Duration { return tc.after })
			require.NoError(t, err)
			assert.Equal(t, tc.want, progress.Complete)
		})
	}
}

// TestEvaluateWithoutInstanceIDs uses a node that names no instances, as some virtual nodes do.
func TestEvaluateWithoutInstanceIDs(t *testing.T) {
	set := func(image, imageID string) func(*corev1.ContainerStatus) {
		return func(s *corev1.ContainerStatus) { s.Image, s.ImageID = image, imageID }
	}
	tests := map[string]struct {
		before, after func(*corev1.ContainerStatus)
		want          bool
	}{
		"nothing happened yet":          {set("main:1", "id:1"), set("main:1", "id:1"), false},
		"another image ID":              {set("", "id:1"), set("", "id:2"), true},
		"the same digest, a new tag":    {set("main:1", "id:1"), set("main:2", "id:1"), true},
		"no instance":                   {set("main:1", "id:1"), set("main:2", ""), false},
		"a node that names instances":   {func(s *corev1.ContainerStatus) { s.ContainerID = "containerd://mainA" }, set("main:2", "id:2"), false},
		"started while it was updated":  {set("", ""), set("main:2", "id:2"), true},
		"not started, the image is new": {set("", ""), set("", ""), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := runningPod("A")
			status := &pod.Status.ContainerStatuses[0]
			status.ContainerID = ""
			tc.before(status)
			require.NoError(t, images("main:2").Apply(pod, "rev2", now))
			status.ContainerID = ""
			tc.after(status)
			progress, err := Evaluate(pod, nil)
			require.NoError(t, err)
			assert.Equal(t, tc.want, progress.Complete)
		})
	}
}

// Case inplace-update 22.
func TestRegistryPortIsNotATag(t *testing.T) {
	pod := runningPod("A")
	pod.Spec.Containers[0].Image = "registry:5000/app"
	setMain(pod, "A", "registry:5000/app:latest", "registry:5000/app@sha256:1")
	require.NoError(t, images("registry:5000/app:v2").Apply(pod, "rev2", now))
	setMain(pod, "B", "registry:5000/app:v2", "registry:5000/app@sha256:1")
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete)
}

func TestRollbackBeforeTheNodeSawAnything(t *testing.T) {
	pod := runningPod("A")
	require.NoError(t, images("main:2").Apply(pod, "rev2", now))
	require.NoError(t, images("main:1").Apply(pod, "rev1", now))
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete, "the first instance runs what the spec asks for again")
}

func TestRollbackWhileTheNodeReplacesTheContainer(t *testing.T) {
	pod := runningPod("A")
	require.NoError(t, images("main:2").Apply(pod, "rev2", now))
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}
	require.NoError(t, images("main:1").Apply(pod, "rev1", now))
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.False(t, progress.Complete, "the first instance is dead")
	setMain(pod, "C", "main:1", "main:1@sha256:1")
	progress, err = Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete)
}

func TestSecondContainerChangesDuringTheFirstUpdate(t *testing.T) {
	pod := runningPod("A")
	require.NoError(t, images("main:2").Apply(pod, "rev2", now))
	require.NoError(t, (&Change{Images: map[string]string{"side": "side:2"}}).Apply(pod, "rev3", now))
	s := &pod.Status.ContainerStatuses[1]
	s.ContainerID, s.Image = "containerd://sideB", "side:2"
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.False(t, progress.Complete, "main still runs the old image")
	setMain(pod, "B", "main:2", "m@sha256:2")
	progress, err = Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete)
}

func TestEvaluateRecordsOfOtherReleases(t *testing.T) {
	tests := map[string]struct {
		annotations map[string]string
		want        bool
		err         string
	}{
		"never updated":       {nil, true, ""},
		"another image ID":    {map[string]string{"inplace-update-state": `{"lastContainerStatuses":{"main":{"imageID":"x"}}}`}, true, ""},
		"a later batch waits": {map[string]string{pub.InPlaceUpdateStateKey: `{"nextContainerImages":{"main":"m:3"}}`}, false, ""},
		"in grace":            {map[string]string{pub.InPlaceUpdateStateKey: `{}`, pub.InPlaceUpdateGraceKey: `{}`}, false, ""},
		"broken":              {map[string]string{pub.InPlaceUpdateStateKey: `{`}, false, `decode annotation "apps.kruise.io/inplace-update-state"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := runningPod("A")
			pod.Annotations = tc.annotations
			progress, err := Evaluate(pod, nil)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, progress.Complete)
		})
	}
}

// An instance that restarted in between may run either image. An update of something else must not treat it as the new instance.
func TestSecondChangeAfterACrash(t *testing.T) {
	for name, later := range map[string]*Change{
		"metadata": {Labels: MapChange{Set: map[string]string{"new": "1"}}},
		"side":     {Images: map[string]string{"side": "side:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningPod("A")
			require.NoError(t, images("main:2").Apply(pod, "rev2", now))
			setMain(pod, "B", "main:1", "main:1@sha256:1")
			require.NoError(t, later.Apply(pod, "rev3", now))
			progress, err := Evaluate(pod, nil)
			require.NoError(t, err)
			assert.False(t, progress.Complete)
			setMain(pod, "C", "main:2", "m@sha256:2")
			progress, err = Evaluate(pod, nil)
			require.NoError(t, err)
			assert.True(t, progress.Complete)
		})
	}
}

func TestInstanceMustBeSeenForLong(t *testing.T) {
	pod := runningPod("A")
	require.NoError(t, images("main:2").Apply(pod, "rev2", now))
	var seen []string
	watch := func() Progress {
		progress, err := Evaluate(pod, func(sighting string) time.Duration {
			seen = append(seen, sighting)
			return 30 * time.Second
		})
		require.NoError(t, err)
		return progress
	}
	watch()
	assert.Empty(t, seen, "the recorded instance is never the new one")
	setMain(pod, "B", "main:1", "main:1@sha256:1")
	assert.Equal(t, Progress{Recheck: 10 * time.Second}, watch())
	setMain(pod, "C", "main:1", "main:1@sha256:1")
	watch()
	require.Len(t, seen, 2)
	assert.NotEqual(t, seen[0], seen[1], "another instance starts again")
	pod.Generation, pod.Status.ObservedGeneration = 3, 2
	watch()
	assert.Len(t, seen, 2, "nothing counts before the node has seen the spec")
}

func TestSameImage(t *testing.T) {
	one, two := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	for name, tt := range map[string]struct {
		spec, image, imageID string
		want                 bool
	}{
		"as written":             {"nginx", "nginx", "", true},
		"a short name":           {"nginx", "docker.io/library/nginx:latest", "", true},
		"a folder":               {"team/app:1", "docker.io/team/app:1", "", true},
		"an old host":            {"index.docker.io/library/a:1", "docker.io/library/a:1", "", true},
		"a port is no tag":       {"registry:5000/app", "registry:5000/app:latest", "", true},
		"another tag":            {"team/app:1", "docker.io/team/app:2", "team/app@" + one, false},
		"another host":           {"localhost/app:1", "app:1", "", false},
		"digest of the image ID": {"a:1@" + one, "docker.io/library/a:7", "docker.io/library/a@" + one, true},
		"digest without a name":  {"a@" + one, one, "docker.io/library/" + one, true},
		"digest of the image":    {"a:1@" + one, "a@" + one, "", true},
		"another digest":         {"a:1@" + one, "a:1@" + two, "a@" + two, false},
		"the tag alone":          {"a:1@" + one, "a:1", "", false},
		"the image by its ID":    {"a:1", one, "a@" + one, false},
		"no reference":           {"A:1", "a:1", "", false},
		"nothing reported":       {"a:1", "", "", false},
	} {
		assert.Equal(t, tt.want, sameImage(tt.spec, tt.image, tt.imageID), name)
	}
}

// A write that the node has not seen makes no doubt of an update that it has finished.
func TestFinishedContainerIsNotDoubtedBecauseOfAnotherWrite(t *testing.T) {
	pod := runningPod("A")
	require.NoError(t, images("main:2").Apply(pod, "rev2", now))
	setMain(pod, "B", "main:2", "m@sha256:2")
	pod.Generation, pod.Status.ObservedGeneration = 2, 1
	require.NoError(t, (&Change{Labels: MapChange{Set: map[string]string{"x": "1"}}}).Apply(pod, "rev3", now))
	pod.Status.ObservedGeneration = 2
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete)
}
