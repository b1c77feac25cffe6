package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
)

// validateCompletionPolicy checks when a job ends. The messages name the field, because other
// programs look for these words.
func validateCompletionPolicy(policy *apps.CompletionPolicy, path *field.Path) field.ErrorList {
	deadline, ttl := path.Child("activeDeadlineSeconds"), path.Child("ttlSecondsAfterFinished")
	const onlyAlways = "activeDeadlineSeconds and ttlSecondsAfterFinished can only work with Always CompletionPolicyType; " +
		"remove the field, or set type to Always"
	var errs field.ErrorList
	switch policy.Type {
	case apps.CompletionPolicyAlways:
	case apps.CompletionPolicyNever:
		if policy.ActiveDeadlineSeconds != nil {
			errs = append(errs, field.Invalid(deadline, *policy.ActiveDeadlineSeconds, onlyAlways))
		}
		if policy.TTLSecondsAfterFinished != nil {
			errs = append(errs, field.Invalid(ttl, *policy.TTLSecondsAfterFinished, onlyAlways))
		}
		return errs
	default:
		return field.ErrorList{field.Invalid(path.Child("type"), policy.Type,
			fmt.Sprintf("unknown type of completionPolicy; use %s or %s", apps.CompletionPolicyAlways, apps.CompletionPolicyNever))}
	}
	if policy.ActiveDeadlineSeconds != nil && *policy.ActiveDeadlineSeconds <= 0 {
		errs = append(errs, field.Invalid(deadline, *policy.ActiveDeadlineSeconds, "must be greater than 0"))
	}
	return append(errs, notNegative(int64(ptr.Deref(policy.TTLSecondsAfterFinished, 0)), ttl)...)
}
