package validation

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// defaultPullTimeout is the number of seconds that an attempt may take if no timeout is set.
const defaultPullTimeout = 600

// validateImagePull checks what all jobs that pull images have.
func validateImagePull(template *apps.ImagePullJobTemplate, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, name := range template.PullSecrets {
		if name == "" {
			errs = append(errs, field.Required(path.Child("pullSecrets").Index(i), "name a Secret in the job's namespace"))
		}
	}
	if count := len(template.PullSecrets); count > pub.MaxPullSecrets {
		errs = append(errs, field.TooMany(path.Child("pullSecrets"), count, pub.MaxPullSecrets))
	}
	if config := template.SandboxConfig; config != nil {
		errs = append(errs, atMostBytes(pub.SizeOfMap(config.Labels)+pub.SizeOfMap(config.Annotations), pub.MaxSandboxConfigSize,
			"keep only the labels and annotations that the container runtime reads", path.Child("sandboxConfig"))...)
	}
	errs = append(errs, validateNodeChoice(template, path)...)
	errs = append(errs, validatePullParallelism(template.Parallelism, path.Child("parallelism"))...)
	if policy := template.PullPolicy; policy != nil {
		timeout := int64(ptr.Deref(policy.TimeoutSeconds, 0))
		errs = append(errs, notNegative(timeout, path.Child("pullPolicy", "timeoutSeconds"))...)
	}
	errs = append(errs, validateCompletionPolicy(&template.CompletionPolicy, path.Child("completionPolicy"))...)
	return append(errs, validateImagePullPolicy(template.ImagePullPolicy, path.Child("imagePullPolicy"))...)
}

// validateNodeChoice checks selector and podSelector, alone and together.
func validateNodeChoice(template *apps.ImagePullJobTemplate, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("selector")
	if selector := template.Selector; selector != nil {
		errs = append(errs, invalidSelector("invalid selector", &selector.LabelSelector, at)...)
		if len(selector.Names) > 0 && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
			errs = append(errs, field.Forbidden(at, "can not set both names and labelSelector in this spec.selector; remove one of them"))
		}
		errs = append(errs, validateNodeNames(selector.Names, at.Child("names"))...)
	}
	if selector := template.PodSelector; selector != nil {
		errs = append(errs, invalidSelector("invalid podSelector", &selector.LabelSelector, path.Child("podSelector"))...)
		if template.Selector != nil {
			errs = append(errs, field.Forbidden(at, "can not set both selector and podSelector; remove one of them"))
		}
	}
	return errs
}

func validateNodeNames(names []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, name := range names {
		switch {
		case name == "":
			errs = append(errs, field.Required(path.Index(i), "name a node"))
		case seen.Has(name):
			errs = append(errs, field.Invalid(path.Index(i), name, "duplicated name in selector names; remove the duplicate"))
		}
		seen.Insert(name)
	}
	return errs
}

// invalidSelector begins the errors of a selector with the words that programs look for.
func invalidSelector(words string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
	for _, err := range errs {
		err.Detail = words + ": " + err.Detail
	}
	return errs
}

// validatePullParallelism checks a number of nodes, which may be written as text.
func validatePullParallelism(value *intstr.IntOrString, path *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	count, err := int64(value.IntVal), error(nil)
	if value.Type == intstr.String {
		count, err = strconv.ParseInt(value.StrVal, 10, 32)
	}
	problem := ""
	switch {
	case strings.HasSuffix(value.StrVal, "%"):
		problem = "parallelism does not support percentage value; set a number of nodes such as 5"
	case err != nil:
		problem = "parallelism must be a valid integer; set a number of nodes such as 5"
	case count < 0:
		problem = "parallelism must be non-negative; 0 pauses the job"
	default:
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.String(), problem)}
}

func validateImagePullPolicy(policy apps.ImagePullPolicy, path *field.Path) field.ErrorList {
	switch policy {
	case "", apps.PullAlways, apps.PullIfNotPresent:
		return nil
	default:
		return field.ErrorList{field.NotSupported(path, policy, []apps.ImagePullPolicy{apps.PullAlways, apps.PullIfNotPresent})}
	}
}

// validatePullDeadline refuses a deadline that is too short for one attempt.
func validatePullDeadline(template *apps.ImagePullJobTemplate, path *field.Path) field.ErrorList {
	deadline := template.CompletionPolicy.ActiveDeadlineSeconds
	if template.CompletionPolicy.Type != apps.CompletionPolicyAlways || deadline == nil {
		return nil
	}
	timeout := int64(defaultPullTimeout)
	if policy := template.PullPolicy; policy != nil {
		timeout = int64(ptr.Deref(policy.TimeoutSeconds, defaultPullTimeout))
	}
	if timeout <= *deadline {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("completionPolicy", "activeDeadlineSeconds"), *deadline,
		"completionPolicy.activeDeadlineSeconds must be greater than pullPolicy.timeoutSeconds(default 600); raise it, or lower the timeout")}
}
