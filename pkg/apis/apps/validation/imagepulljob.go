package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

// ValidateImagePullJob checks a new ImagePullJob.
func ValidateImagePullJob(job *apps.ImagePullJob) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&job.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateImagePullJobSpec(&job.Spec, field.NewPath("spec"))...)
}

// ValidateImagePullJobUpdate checks an update of an ImagePullJob.
func ValidateImagePullJobUpdate(job, old *apps.ImagePullJob) field.ErrorList {
	spec := field.NewPath("spec")
	errs := replaced(job, old, func(one *apps.ImagePullJob) field.ErrorList {
		return validateImagePullJobSpec(&one.Spec, spec)
	})
	if !apiequality.Semantic.DeepEqual(job.Spec.PullSecrets, old.Spec.PullSecrets) {
		errs = append(errs, field.Forbidden(spec.Child("pullSecrets"),
			"spec.pullSecrets is immutable; put the stored names back, or create another job"))
	}
	return errs
}

// ValidateImagePullJobStatusUpdate checks an update of a status.
func ValidateImagePullJobStatusUpdate(job, old *apps.ImagePullJob) field.ErrorList {
	status := &job.Status
	return append(
		apivalidation.ValidateObjectMetaUpdate(&job.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")),
		validateCounts([]count{
			{"desired", status.Desired}, {"active", status.Active}, {"succeeded", status.Succeeded}, {"failed", status.Failed},
		}, field.NewPath("status"))...)
}

func validateImagePullJobSpec(spec *apps.ImagePullJobSpec, path *field.Path) field.ErrorList {
	errs := validateImage(spec.Image, path.Child("image"))
	errs = append(errs, validateImagePull(&spec.ImagePullJobTemplate, path)...)
	return append(errs, validatePullDeadline(&spec.ImagePullJobTemplate, path)...)
}
