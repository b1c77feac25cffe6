package predownload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

func template(images ...string) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"note": "x"}}}
	for i, image := range images {
		t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: string(rune('a' + i)), Image: image})
	}
	return t
}

func TestJobsForNewImages(t *testing.T) {
	w := &Workload{
		Owner: metav1.OwnerReference{Kind: "CloneSet", Name: "web", UID: "u", Controller: new(true)}, Namespace: "ns",
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		From:     []*corev1.PodTemplateSpec{template("app:1", "side:1")}, To: template("app:2", "side:1", "new:1"),
		Update: &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-abc", Labels: map[string]string{"controller.kubernetes.io/hash": "abc"}}},
	}
	w.To.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}, {Name: ""}, {Name: "s"}}
	jobs := Jobs(w)
	require.Len(t, jobs, 2)
	assert.Equal(t, []string{"web-abc-a", "web-abc-c"}, []string{jobs[0].Name, jobs[1].Name})
	labels := map[string]string{"app": "web", "controller.kubernetes.io/hash": "abc", "controller-revision-hash": "abc"}
	assert.Equal(t, &v1beta1.ImagePullJob{
		ObjectMeta: metav1.ObjectMeta{Name: "web-abc-a", Namespace: "ns", Labels: labels, OwnerReferences: []metav1.OwnerReference{w.Owner}},
		Spec: v1beta1.ImagePullJobSpec{Image: "app:2", ImagePullJobTemplate: v1beta1.ImagePullJobTemplate{
			PullSecrets: []string{"s"},
			PodSelector: &v1beta1.ImagePullJobPodSelector{LabelSelector: metav1.LabelSelector{
				MatchLabels: map[string]string{"app": "web"},
				MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "controller-revision-hash", Operator: "NotIn", Values: []string{"web-abc", "abc"}},
				},
			}},
			Parallelism:      new(intstr.FromInt32(1)),
			PullPolicy:       &v1beta1.PullPolicy{TimeoutSeconds: ptr.To[int32](300), BackoffLimit: ptr.To[int32](1)},
			CompletionPolicy: v1beta1.CompletionPolicy{Type: "Always", TTLSecondsAfterFinished: ptr.To[int32](600)},
			SandboxConfig:    &v1beta1.SandboxConfig{Annotations: map[string]string{"note": "x"}, Labels: labels},
		}},
	}, jobs[0])
	assert.Empty(t, w.Selector.MatchExpressions, "the workload's selector is its own")
	w.Update.Name = strings.Repeat("w", 60) + "-abc"
	assert.Equal(t, []string{"abc"}, Jobs(w)[0].Spec.PodSelector.MatchExpressions[0].Values, "the name is too long for a label")
	w.To = template("app:1", "side:1")
	assert.Empty(t, Jobs(w))
	w.From = append(w.From, template("app:0", "side:1"))
	assert.Len(t, Jobs(w), 1, "some Pods are at an older revision, without the image")
}

// A template can have more than a job may have. The job must be valid.
func TestJobStaysWithinItsBounds(t *testing.T) {
	w := &Workload{
		Namespace: "ns", Selector: &metav1.LabelSelector{}, From: []*corev1.PodTemplateSpec{template("app:1")}, To: template("app:2"),
		Update: &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-abc"}},
	}
	w.To.Annotations = map[string]string{"runtime": "x", "large": strings.Repeat("x", 20<<10), "larger": strings.Repeat("x", 100<<10)}
	for i := range 1000 {
		w.To.Spec.ImagePullSecrets = append(w.To.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: fmt.Sprint("s", i)})
	}
	job := Jobs(w)[0]
	assert.Equal(t, map[string]string{"runtime": "x"}, job.Spec.SandboxConfig.Annotations)
	assert.Equal(t, job.Labels, job.Spec.SandboxConfig.Labels)
	assert.Len(t, job.Spec.PullSecrets, 32)
	w.To.Annotations = nil
	for i := range 10000 {
		w.To.Labels[fmt.Sprint("l", i)] = "x"
	}
	config := Jobs(w)[0].Spec.SandboxConfig
	assert.LessOrEqual(t, pub.SizeOfMap(config.Labels)+pub.SizeOfMap(config.Annotations), pub.MaxSandboxConfigSize)
	assert.Greater(t, len(config.Labels), 1000)
}

// Case image-predownload 39.
func TestWorthwhile(t *testing.T) {
	tests := map[string]struct {
		rollout Rollout
		want    bool
	}{
		"five, three of them held back": {Rollout{Few: 3, Replicas: 5, Partition: 3, MaxUnavailable: 1, InPlace: true}, true},
		"three":                         {Rollout{Few: 3, Replicas: 3, Partition: 1, MaxUnavailable: 1, InPlace: true}, false},
		"recreated":                     {Rollout{Few: 3, Replicas: 5, MaxUnavailable: 1}, false},
		"all at once":                   {Rollout{Few: 3, Replicas: 5, MaxUnavailable: 5, InPlace: true}, false},
		"all at once that may go":       {Rollout{Few: 3, Replicas: 5, Partition: 1, MaxUnavailable: 5, InPlace: true}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, tc.rollout.Worthwhile()) })
	}
}

func TestSettings(t *testing.T) {
	read := FromAnnotations(map[string]string{
		"apps.kruise.io/image-predownload-parallelism": "4", "apps.kruise.io/image-predownload-timeout-seconds": "60",
		"apps.kruise.io/image-predownload-min-updated-ready-pods": "30%",
	})
	assert.Equal(t, Settings{Parallelism: new(intstr.FromInt32(4)), TimeoutSeconds: ptr.To[int32](60), MinUpdatedReadyPods: new(intstr.FromString("30%"))}, read)
	assert.False(t, read.Due(1, 5))
	assert.True(t, read.Due(2, 5), "a percentage is rounded up")
	assert.True(t, Settings{}.Due(0, 5))
	assert.Equal(t, Settings{}, FromAnnotations(map[string]string{
		"apps.kruise.io/image-predownload-parallelism": "50%", "apps.kruise.io/image-predownload-timeout-seconds": "soon",
		"apps.kruise.io/image-predownload-min-updated-ready-pods": "many",
	}), "what cannot be read is not set")
}

func TestDecided(t *testing.T) {
	for label, want := range map[string]bool{
		"apps.kruise.io/pre-predownload-created": true, "apps.kruise.io/image-predownload-ignored": true, "other": false,
	} {
		assert.Equal(t, want, Decided(&appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label: "true"}}}), label)
	}
}
