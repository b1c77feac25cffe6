package validation

import (
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

// maxCronJobName leaves room in the names of jobs, 63 characters, for a hyphen and the time.
const maxCronJobName = 52

// ValidateAdvancedCronJob checks a new AdvancedCronJob.
func ValidateAdvancedCronJob(job *apps.AdvancedCronJob) field.ErrorList {
	metadata := field.NewPath("metadata")
	errs := apivalidation.ValidateObjectMeta(&job.ObjectMeta, true, apivalidation.NameIsDNSLabel, metadata)
	if len(job.Name) > maxCronJobName {
		errs = append(errs, field.Invalid(metadata.Child("name"), job.Name,
			fmt.Sprintf("must be no more than %d characters, because job names append a timestamp; shorten it", maxCronJobName)))
	}
	return append(errs, validateAdvancedCronJobSpec(&job.Spec, field.NewPath("spec"))...)
}

// ValidateAdvancedCronJobUpdate checks an update of an AdvancedCronJob.
func ValidateAdvancedCronJobUpdate(job, old *apps.AdvancedCronJob) field.ErrorList {
	spec := field.NewPath("spec")
	errs := replaced(job, old, func(one *apps.AdvancedCronJob) field.ErrorList {
		return validateAdvancedCronJobSpec(&one.Spec, spec)
	})
	return append(errs, validateSameTemplates(&job.Spec.Template, &old.Spec.Template, spec.Child("template"))...)
}

// ValidateAdvancedCronJobStatusUpdate checks an update of a status.
func ValidateAdvancedCronJobStatusUpdate(job, old *apps.AdvancedCronJob) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(&job.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
}

// AdvancedCronJobErrorsIn converts the paths of errors in an AdvancedCronJob to the version of the request.
func AdvancedCronJobErrorsIn(version string, errs field.ErrorList) field.ErrorList {
	return inVersion(version, errs, []movedField{
		{"spec.template.imageListPullJobTemplate", "metadata.annotations[" + v1alpha1.KeptFieldsAnnotation + "]"},
	})
}

// validateAdvancedCronJobSpec checks a spec. Its templates are judged as new ones: they cannot change.
func validateAdvancedCronJobSpec(spec *apps.AdvancedCronJobSpec, path *field.Path) field.ErrorList {
	errs := validateSchedule(spec.Schedule, spec.TimeZone, path)
	errs = append(errs, notNegative(ptr.Deref(spec.StartingDeadlineSeconds, 0), path.Child("startingDeadlineSeconds"))...)
	errs = append(errs, validateConcurrency(spec, path.Child("concurrencyPolicy"))...)
	errs = append(errs, notNegative(int64(ptr.Deref(spec.SuccessfulJobsHistoryLimit, 0)), path.Child("successfulJobsHistoryLimit"))...)
	errs = append(errs, notNegative(int64(ptr.Deref(spec.FailedJobsHistoryLimit, 0)), path.Child("failedJobsHistoryLimit"))...)
	return append(errs, validateCronJobTemplate(&spec.Template, path.Child("template"))...)
}

// validateConcurrency keeps pulls of the same images from running beside each other.
func validateConcurrency(spec *apps.AdvancedCronJobSpec, path *field.Path) field.ErrorList {
	switch policy := spec.ConcurrencyPolicy; {
	case policy == apps.ForbidConcurrent, policy == apps.ReplaceConcurrent:
		return nil
	case spec.Template.ImageListPullJobTemplate != nil:
		return field.ErrorList{field.NotSupported(path, policy, []apps.ConcurrencyPolicy{apps.ReplaceConcurrent, apps.ForbidConcurrent})}
	case policy == apps.AllowConcurrent:
		return nil
	default:
		return field.ErrorList{field.NotSupported(path, policy, []apps.ConcurrencyPolicy{
			apps.AllowConcurrent, apps.ForbidConcurrent, apps.ReplaceConcurrent,
		})}
	}
}

func validateJobMetadata(metadata *metav1.ObjectMeta, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabels(metadata.Labels, path.Child("labels"))
	return append(errs, apivalidation.ValidateAnnotations(metadata.Annotations, path.Child("annotations"))...)
}

// validateSameTemplates refuses a change of what Jobs and BroadcastJobs are created from. Both are
// compared as if defaulted, so that what a user leaves unset is no change.
func validateSameTemplates(template, old *apps.CronJobTemplate, path *field.Path) field.ErrorList {
	current, stored := asDefaulted(template), asDefaulted(old)
	const message = "cannot be changed; put the stored one back, or create another AdvancedCronJob"
	var errs field.ErrorList
	if !apiequality.Semantic.DeepEqual(current.JobTemplate, stored.JobTemplate) {
		errs = append(errs, field.Forbidden(path.Child("jobTemplate"), message))
	}
	if !apiequality.Semantic.DeepEqual(current.BroadcastJobTemplate, stored.BroadcastJobTemplate) {
		errs = append(errs, field.Forbidden(path.Child("broadcastJobTemplate"), message))
	}
	return errs
}
