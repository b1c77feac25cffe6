package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

// ValidateImageListPullJob checks a new ImageListPullJob.
func ValidateImageListPullJob(job *apps.ImageListPullJob) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&job.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateImageListPullJobSpec(&job.Spec, field.NewPath("spec"))...)
}

// ValidateImageListPullJobUpdate checks an update of an ImageListPullJob.
func ValidateImageListPullJobUpdate(job, old *apps.ImageListPullJob) field.ErrorList {
	spec := field.NewPath("spec")
	return replaced(job, old, func(one *apps.ImageListPullJob) field.ErrorList {
		return validateImageListPullJobSpec(&one.Spec, spec)
	})
}

// ValidateImageListPullJobStatusUpdate checks an update of a status.
func ValidateImageListPullJobStatusUpdate(job, old *apps.ImageListPullJob) field.ErrorList {
	status := &job.Status
	return append(
		apivalidation.ValidateObjectMetaUpdate(&job.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")),
		validateCounts([]count{
			{"desired", status.Desired}, {"active", status.Active},
			{"completed", status.Completed}, {"succeeded", status.Succeeded},
		}, field.NewPath("status"))...)
}

// validateImageListPullJobSpec lets the deadline be shorter than the timeout of a pull, unlike an
// ImagePullJob's.
func validateImageListPullJobSpec(spec *apps.ImageListPullJobSpec, path *field.Path) field.ErrorList {
	errs := validateImages(spec.Images, path.Child("images"))
	return append(errs, validateImagePull(&spec.ImagePullJobTemplate, path)...)
}
