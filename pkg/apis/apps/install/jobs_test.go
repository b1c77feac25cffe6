package install_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
)

func endingPods(policy corev1.RestartPolicy) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: policy, Containers: []corev1.Container{{Name: "a", Image: "b:v1"}},
	}}
}

// Case broadcastjob 2: it holds where templates are not defaulted too.
func TestRestartOfJobs(t *testing.T) {
	for written, want := range map[corev1.RestartPolicy]corev1.RestartPolicy{
		"": corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever: corev1.RestartPolicyNever, corev1.RestartPolicyAlways: corev1.RestartPolicyAlways,
	} {
		t.Run("written "+string(written), func(t *testing.T) {
			broadcast := &apps.BroadcastJob{Spec: apps.BroadcastJobSpec{Template: endingPods(written)}}
			install.DefaultBroadcastJob(broadcast, nil)
			require.Equal(t, want, broadcast.Spec.Template.Spec.RestartPolicy)

			cron := cronJob(written)
			install.DefaultAdvancedCronJob(cron, nil)
			require.Equal(t, want, cron.Spec.Template.JobTemplate.Spec.Template.Spec.RestartPolicy)
			require.Equal(t, want, cron.Spec.Template.BroadcastJobTemplate.Spec.Template.Spec.RestartPolicy)
		})
	}
	install.DefaultAdvancedCronJob(&apps.AdvancedCronJob{}, nil)
	install.DefaultAdvancedCronJobTemplate(&apps.AdvancedCronJob{}, cronJob(corev1.RestartPolicyNever), nil)
}

func cronJob(policy corev1.RestartPolicy) *apps.AdvancedCronJob {
	return &apps.AdvancedCronJob{Spec: apps.AdvancedCronJobSpec{Template: apps.CronJobTemplate{
		JobTemplate:          &batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: endingPods(policy)}},
		BroadcastJobTemplate: &apps.BroadcastJobTemplateSpec{Spec: apps.BroadcastJobSpec{Template: endingPods(policy)}},
	}}}
}

func TestTemplatesOfJobs(t *testing.T) {
	for name, test := range map[string]struct {
		hasOld bool
		host   string
		want   corev1.DNSPolicy
	}{
		"create":            {false, "", corev1.DNSClusterFirst},
		"an update of it":   {true, "other", corev1.DNSClusterFirst},
		"an update without": {true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			broadcast := &apps.BroadcastJob{Spec: apps.BroadcastJobSpec{Template: endingPods(corev1.RestartPolicyNever)}}
			cron := cronJob(corev1.RestartPolicyNever)
			var (
				oldBroadcast *apps.BroadcastJob
				oldCron      *apps.AdvancedCronJob
			)
			if test.hasOld {
				oldBroadcast, oldCron = broadcast.DeepCopy(), cron.DeepCopy()
			}
			job, inner := cron.Spec.Template.JobTemplate, cron.Spec.Template.BroadcastJobTemplate
			for _, template := range []*corev1.PodTemplateSpec{&broadcast.Spec.Template, &job.Spec.Template, &inner.Spec.Template} {
				template.Spec.Hostname = test.host
			}
			install.DefaultBroadcastJobTemplate(broadcast, oldBroadcast, nil)
			install.DefaultAdvancedCronJobTemplate(cron, oldCron, nil)
			require.Equal(t, test.want, broadcast.Spec.Template.Spec.DNSPolicy)
			require.Equal(t, test.want, job.Spec.Template.Spec.DNSPolicy)
			require.Equal(t, test.want, inner.Spec.Template.Spec.DNSPolicy)
		})
	}
}
