package validation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/podtemplate"
)

// ValidateBroadcastJob checks a new BroadcastJob. Its name is a label of its Pods.
func ValidateBroadcastJob(job *apps.BroadcastJob) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&job.ObjectMeta, true, apivalidation.NameIsDNSLabel, field.NewPath("metadata"))
	return append(errs, validateBroadcastJobSpec(&job.Spec, nil, field.NewPath("spec"))...)
}

// ValidateBroadcastJobUpdate checks an update of a BroadcastJob. Every field may change; Pods that exist
// stay as they are.
func ValidateBroadcastJobUpdate(job, old *apps.BroadcastJob) field.ErrorList {
	spec := field.NewPath("spec")
	return replaced(job, old, func(one *apps.BroadcastJob) field.ErrorList {
		return validateBroadcastJobSpec(&one.Spec, &old.Spec, spec)
	})
}

// ValidateBroadcastJobStatusUpdate checks an update of a status.
func ValidateBroadcastJobStatusUpdate(job, old *apps.BroadcastJob) field.ErrorList {
	status := &job.Status
	return append(
		apivalidation.ValidateObjectMetaUpdate(&job.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")),
		validateCounts([]count{
			{"active", status.Active}, {"succeeded", status.Succeeded}, {"failed", status.Failed}, {"desired", status.Desired},
		}, field.NewPath("status"))...)
}

// validateBroadcastJobSpec checks a spec. old is the stored one, nil on create: core's rules for
// templates let stored values stay.
func validateBroadcastJobSpec(spec, old *apps.BroadcastJobSpec, path *field.Path) field.ErrorList {
	var stored *corev1.PodTemplateSpec
	if old != nil {
		stored = &old.Template
	}
	errs := validateAmount(spec.Parallelism, path.Child("parallelism"))
	errs = append(errs, validateBroadcastTemplate(&spec.Template, stored, path.Child("template"))...)
	errs = append(errs, validateCompletionPolicy(&spec.CompletionPolicy, path.Child("completionPolicy"))...)
	return append(errs, validateFailurePolicy(&spec.FailurePolicy, path.Child("failurePolicy"))...)
}

// validateBroadcastTemplate runs core's rules for a template whose Pods end, and keeps the labels
// free by which the controller finds them.
func validateBroadcastTemplate(template, old *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	errs := podtemplate.Validate(template, old, path)
	if policy := template.Spec.RestartPolicy; policy == "" || policy == corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(path.Child("spec", "restartPolicy"), policy,
			[]corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure}))
	}
	for _, key := range []string{pub.BroadcastJobNameKey, pub.BroadcastJobControllerUIDKey} {
		if template.Labels[key] != "" {
			errs = append(errs, field.Forbidden(path.Child("metadata", "labels").Key(key), "the controller sets it; remove it"))
		}
	}
	return errs
}

func validateFailurePolicy(policy *apps.FailurePolicy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch policy.Type {
	case apps.FailurePolicyTypeFailFast, apps.FailurePolicyTypeContinue, apps.FailurePolicyTypePause:
	default:
		errs = append(errs, field.NotSupported(path.Child("type"), policy.Type, []apps.FailurePolicyType{
			apps.FailurePolicyTypeFailFast, apps.FailurePolicyTypeContinue, apps.FailurePolicyTypePause,
		}))
	}
	return append(errs, notNegative(int64(policy.RestartLimit), path.Child("restartLimit"))...)
}
