package validation

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
)

// ValidateEphemeralJob checks a new EphemeralJob.
func ValidateEphemeralJob(job *apps.EphemeralJob) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&job.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateEphemeralJobSpec(&job.Spec, nil, field.NewPath("spec"))...)
}

// ValidateEphemeralJobUpdate checks an update of an EphemeralJob.
func ValidateEphemeralJobUpdate(job, old *apps.EphemeralJob) field.ErrorList {
	spec := field.NewPath("spec")
	errs := replaced(job, old, func(one *apps.EphemeralJob) field.ErrorList {
		return validateEphemeralJobSpec(&one.Spec, &old.Spec, spec)
	})
	if old.Status.StartTime != nil && !apiequality.Semantic.DeepEqual(job.Spec.Template, old.Spec.Template) {
		errs = append(errs, field.Forbidden(spec.Child("template"),
			"cannot be changed after the job has started, because ephemeral containers in Pods cannot change; create another EphemeralJob"))
	}
	return errs
}

// ValidateEphemeralJobStatusUpdate checks an update of a status.
func ValidateEphemeralJobStatusUpdate(job, old *apps.EphemeralJob) field.ErrorList {
	status := field.NewPath("status")
	return replaced(job, old, func(one *apps.EphemeralJob) field.ErrorList {
		return validateEphemeralJobStatus(&one.Status, status)
	})
}

func validateEphemeralJobStatus(status *apps.EphemeralJobStatus, path *field.Path) field.ErrorList {
	return validateCounts([]count{
		{"match", status.Match}, {"succeeded", status.Succeeded}, {"failed", status.Failed},
		{"running", status.Running}, {"waiting", status.Waiting},
	}, path)
}

// validateEphemeralJobSpec checks a spec. old is the stored one, nil on create.
func validateEphemeralJobSpec(spec, old *apps.EphemeralJobSpec, path *field.Path) field.ErrorList {
	errs := validateSelecting("EphemeralJob", spec.Selector, path.Child("selector"))
	errs = append(errs, notNegative(int64(ptr.Deref(spec.Replicas, 0)), path.Child("replicas"))...)
	errs = append(errs, notNegative(int64(ptr.Deref(spec.Parallelism, 0)), path.Child("parallelism"))...)
	errs = append(errs, notNegative(ptr.Deref(spec.ActiveDeadlineSeconds, 0), path.Child("activeDeadlineSeconds"))...)
	errs = append(errs, notNegative(int64(ptr.Deref(spec.TTLSecondsAfterFinished, 0)), path.Child("ttlSecondsAfterFinished"))...)
	var stored *podtemplate.Parts
	if old != nil {
		stored = ephemeralParts(old.Template.EphemeralContainers)
	}
	return append(errs, podtemplate.ValidateParts(ephemeralParts(spec.Template.EphemeralContainers), stored, path.Child("template"))...)
}

// ephemeralParts are the containers as in some Pod: one that has the volumes that they mount, and
// the containers that they share processes with.
func ephemeralParts(containers []corev1.EphemeralContainer) *podtemplate.Parts {
	parts := &podtemplate.Parts{}
	volumes := sets.New[string]()
	for _, container := range containers {
		container.TargetContainerName = ""
		parts.EphemeralContainers = append(parts.EphemeralContainers, container)
		for _, mount := range container.VolumeMounts {
			volumes.Insert(mount.Name)
		}
		for _, device := range container.VolumeDevices {
			volumes.Insert(device.Name)
		}
	}
	for _, name := range sets.List(volumes) {
		if len(validation.IsDNS1123Label(name)) == 0 {
			parts.Volumes = append(parts.Volumes, corev1.Volume{Name: name, VolumeSource: claimSource(name)})
		}
	}
	return parts
}
