package v1alpha1_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

func TestDefaultsOfBroadcastJobs(t *testing.T) {
	for name, test := range map[string]struct {
		written, want v1alpha1.BroadcastJobSpec
	}{
		"nothing set": {
			want: v1alpha1.BroadcastJobSpec{
				Parallelism:      new(intstr.FromInt32(math.MaxInt32)),
				CompletionPolicy: v1alpha1.CompletionPolicy{Type: "Always"}, FailurePolicy: v1alpha1.FailurePolicy{Type: "FailFast"},
			},
		},
		"kept": {
			written: v1alpha1.BroadcastJobSpec{
				Parallelism: new(intstr.FromInt32(0)), Paused: true,
				CompletionPolicy: v1alpha1.CompletionPolicy{Type: "Never"}, FailurePolicy: v1alpha1.FailurePolicy{Type: "Pause", RestartLimit: 3},
			},
			want: v1alpha1.BroadcastJobSpec{
				Parallelism: new(intstr.FromInt32(0)), Paused: true,
				CompletionPolicy: v1alpha1.CompletionPolicy{Type: "Never"}, FailurePolicy: v1alpha1.FailurePolicy{Type: "Pause", RestartLimit: 3},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := &v1alpha1.BroadcastJob{Spec: *test.written.DeepCopy()}
			newScheme(t).Default(job)
			require.Equal(t, test.want, job.Spec)
			cron := &v1alpha1.AdvancedCronJob{}
			cron.Spec.Template.BroadcastJobTemplate = &v1alpha1.BroadcastJobTemplateSpec{Spec: *test.written.DeepCopy()}
			newScheme(t).Default(cron)
			require.Equal(t, test.want, cron.Spec.Template.BroadcastJobTemplate.Spec)
		})
	}
}

func TestDefaultsOfAdvancedCronJobs(t *testing.T) {
	job := &v1alpha1.AdvancedCronJob{}
	newScheme(t).Default(job)
	require.Equal(t, v1alpha1.AdvancedCronJobSpec{
		ConcurrencyPolicy: "Allow", Paused: new(false),
		SuccessfulJobsHistoryLimit: ptr.To[int32](3), FailedJobsHistoryLimit: ptr.To[int32](1),
	}, job.Spec)

	kept := v1alpha1.AdvancedCronJobSpec{
		ConcurrencyPolicy: "Forbid", Paused: new(true),
		SuccessfulJobsHistoryLimit: ptr.To[int32](0), FailedJobsHistoryLimit: ptr.To[int32](0),
	}
	job.Spec = *kept.DeepCopy()
	newScheme(t).Default(job)
	require.Equal(t, kept, job.Spec)
}

// A template is read as it was stored, whatever a newer server would fill in.
func TestDefaultsLeaveTemplatesOfJobsAlone(t *testing.T) {
	pods := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "a", Image: "b", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}},
	}}
	job, cron := &v1alpha1.BroadcastJob{}, &v1alpha1.AdvancedCronJob{}
	job.Spec.Template = *pods.DeepCopy()
	cron.Spec.Template.JobTemplate = &batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: *pods.DeepCopy()}}
	cron.Spec.Template.BroadcastJobTemplate = &v1alpha1.BroadcastJobTemplateSpec{Spec: v1alpha1.BroadcastJobSpec{Template: *pods.DeepCopy()}}
	newScheme(t).Default(job)
	newScheme(t).Default(cron)
	require.Equal(t, pods, job.Spec.Template)
	require.Equal(t, batchv1.JobSpec{Template: pods}, cron.Spec.Template.JobTemplate.Spec)
	require.Equal(t, pods, cron.Spec.Template.BroadcastJobTemplate.Spec.Template)
}
