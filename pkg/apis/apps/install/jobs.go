package install

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
)

// DefaultBroadcastJob lets the Pods of a BroadcastJob end. Core's default, Always, would never do.
func DefaultBroadcastJob(job, _ *apps.BroadcastJob) {
	defaultRestart(&job.Spec.Template)
}

// DefaultBroadcastJobTemplate fills the Pod template of a BroadcastJob written by a user. old is the
// stored object, nil on create. Unchanged parts of an update keep their stored values. more is as in
// DefaultCloneSetTemplate.
func DefaultBroadcastJobTemplate(job, old *apps.BroadcastJob, more func(*corev1.PodSpec)) {
	var stored *corev1.PodTemplateSpec
	if old != nil {
		stored = &old.Spec.Template
	}
	podtemplate.Default(&job.Spec.Template, stored, more)
}

// DefaultAdvancedCronJob lets the Pods of the jobs end that an AdvancedCronJob creates.
func DefaultAdvancedCronJob(job, _ *apps.AdvancedCronJob) {
	if template := job.Spec.Template.JobTemplate; template != nil {
		defaultRestart(&template.Spec.Template)
	}
	if template := job.Spec.Template.BroadcastJobTemplate; template != nil {
		defaultRestart(&template.Spec.Template)
	}
}

// DefaultAdvancedCronJobTemplate fills the Pod template of the jobs that an AdvancedCronJob
// creates. old is the stored object, nil on create. more is as in DefaultCloneSetTemplate.
func DefaultAdvancedCronJobTemplate(job, old *apps.AdvancedCronJob, more func(*corev1.PodSpec)) {
	var (
		storedJob  *batchv1.JobTemplateSpec
		storedPods *corev1.PodTemplateSpec
	)
	if old != nil {
		storedJob = old.Spec.Template.JobTemplate
		if stored := old.Spec.Template.BroadcastJobTemplate; stored != nil {
			storedPods = &stored.Spec.Template
		}
	}
	if template := job.Spec.Template.JobTemplate; template != nil {
		podtemplate.DefaultJob(template, storedJob, more)
	}
	if template := job.Spec.Template.BroadcastJobTemplate; template != nil {
		podtemplate.Default(&template.Spec.Template, storedPods, more)
	}
}

func defaultRestart(template *corev1.PodTemplateSpec) {
	if template.Spec.RestartPolicy == "" {
		template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
}
