package validation

import (
	"context"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
)

// maxPullSeconds is how long the pulls of one run may take.
const maxPullSeconds = 86400

// validateCronJobTemplate checks that there is one template, by the rules of the kind that it
// creates.
func validateCronJobTemplate(template *apps.CronJobTemplate, path *field.Path) field.ErrorList {
	errs := validateOneTemplate(template, path)
	if job := template.JobTemplate; job != nil {
		at := path.Child("jobTemplate")
		errs = append(errs, validateJobMetadata(&job.ObjectMeta, at.Child("metadata"))...)
		errs = append(errs, podtemplate.ValidateJob(job, at)...)
	}
	if job := template.BroadcastJobTemplate; job != nil {
		at := path.Child("broadcastJobTemplate")
		errs = append(errs, validateJobMetadata(&job.ObjectMeta, at.Child("metadata"))...)
		errs = append(errs, validateScheduledBroadcast(&job.Spec, at.Child("spec"))...)
	}
	if job := template.ImageListPullJobTemplate; job != nil {
		at := path.Child("imageListPullJobTemplate")
		errs = append(errs, validateJobMetadata(&job.ObjectMeta, at.Child("metadata"))...)
		errs = append(errs, validateImageListPullJobSpec(&job.Spec, at.Child("spec"))...)
		errs = append(errs, validateScheduledPull(&job.Spec.ImagePullJobTemplate, at.Child("spec"))...)
	}
	return errs
}

func validateOneTemplate(template *apps.CronJobTemplate, path *field.Path) field.ErrorList {
	count := 0
	for _, set := range []bool{template.JobTemplate != nil, template.BroadcastJobTemplate != nil, template.ImageListPullJobTemplate != nil} {
		if set {
			count++
		}
	}
	const names = "jobTemplate, broadcastJobTemplate or imageListPullJobTemplate"
	switch count {
	case 0:
		return field.ErrorList{field.Forbidden(path, "must have one template: set "+names)}
	case 1:
		return nil
	default:
		return field.ErrorList{field.Forbidden(path, "can have only one template: keep one of "+names)}
	}
}

// validateScheduledBroadcast checks the spec that a created BroadcastJob has.
func validateScheduledBroadcast(spec *apps.BroadcastJobSpec, path *field.Path) field.ErrorList {
	filled := spec.DeepCopy()
	fillBroadcastJob(filled)
	return validateBroadcastJobSpec(filled, nil, path)
}

// fillBroadcastJob fills the defaults that a BroadcastJob gets when it is created.
func fillBroadcastJob(spec *apps.BroadcastJobSpec) {
	if spec.Parallelism == nil {
		spec.Parallelism = new(intstr.FromInt32(math.MaxInt32))
	}
	if spec.CompletionPolicy.Type == "" {
		spec.CompletionPolicy.Type = apps.CompletionPolicyAlways
	}
	if spec.FailurePolicy.Type == "" {
		spec.FailurePolicy.Type = apps.FailurePolicyTypeFailFast
	}
}

// validateScheduledPull lets every pull end: the next run may wait for it, and the history limits
// say how many ended ones are kept.
func validateScheduledPull(template *apps.ImagePullJobTemplate, path *field.Path) field.ErrorList {
	policy, at := &template.CompletionPolicy, path.Child("completionPolicy")
	var errs field.ErrorList
	if policy.Type == apps.CompletionPolicyNever {
		errs = append(errs, field.NotSupported(at.Child("type"), policy.Type, []apps.CompletionPolicyType{apps.CompletionPolicyAlways}))
	}
	if policy.TTLSecondsAfterFinished != nil {
		errs = append(errs, field.Forbidden(at.Child("ttlSecondsAfterFinished"),
			"not supported; use successfulJobsHistoryLimit and failedJobsHistoryLimit, which limit the number of finished jobs"))
	}
	if deadline := policy.ActiveDeadlineSeconds; deadline != nil && *deadline > maxPullSeconds {
		errs = append(errs, field.Invalid(at.Child("activeDeadlineSeconds"), *deadline, "must be less than or equal to 86400 (one day)"))
	}
	return append(errs, validatePullDeadline(template, path)...)
}

// asDefaulted is a copy whose templates are filled like the jobs that are created from them.
func asDefaulted(template *apps.CronJobTemplate) *apps.CronJobTemplate {
	result := template.DeepCopy()
	if result.JobTemplate != nil {
		podtemplate.DefaultJob(result.JobTemplate, nil, nil)
	}
	if result.BroadcastJobTemplate != nil {
		podtemplate.Default(&result.BroadcastJobTemplate.Spec.Template, nil, nil)
		fillBroadcastJob(&result.BroadcastJobTemplate.Spec)
	}
	return result
}

// WarnAdvancedCronJob tells users of a Pod template what a Deployment's users are told.
func WarnAdvancedCronJob(ctx context.Context, job, old *apps.AdvancedCronJob) []string {
	var stored apps.CronJobTemplate
	if old != nil {
		stored = old.Spec.Template
	}
	path := field.NewPath("spec", "template")
	var warnings []string
	if template := job.Spec.Template.JobTemplate; template != nil {
		var before *corev1.PodTemplateSpec
		if stored.JobTemplate != nil {
			before = &stored.JobTemplate.Spec.Template
		}
		warnings = append(warnings, podtemplate.Warnings(ctx, &template.Spec.Template, before, path.Child("jobTemplate", "spec", "template"))...)
	}
	if template := job.Spec.Template.BroadcastJobTemplate; template != nil {
		var before *corev1.PodTemplateSpec
		if stored.BroadcastJobTemplate != nil {
			before = &stored.BroadcastJobTemplate.Spec.Template
		}
		warnings = append(warnings,
			podtemplate.Warnings(ctx, &template.Spec.Template, before, path.Child("broadcastJobTemplate", "spec", "template"))...)
	}
	return warnings
}
