package validation

import (
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// ValidateContainerRecreateRequest checks a new request, in the order in which users of the kind know the
// rules. What the Pod has to say is for the admission plugin containerrecreaterequest.
func ValidateContainerRecreateRequest(request *apps.ContainerRecreateRequest) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&request.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, ValidateContainerRecreateRequestSpec(&request.Spec, field.NewPath("spec"))...)
}

// ValidateContainerRecreateRequestSpec checks the spec alone: the admission plugin asks it before
// the object has its final name.
func ValidateContainerRecreateRequestSpec(spec *apps.ContainerRecreateRequestSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.PodName == "" {
		errs = append(errs, field.Required(path.Child("podName"), "podName can not be empty; name a running Pod of the namespace"))
	}
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), "containers list can not be null; name the containers to restart"))
	}
	if deadline := spec.ActiveDeadlineSeconds; deadline != nil && *deadline < 3 {
		errs = append(errs, field.Invalid(path.Child("activeDeadlineSeconds"), *deadline,
			"activeDeadlineSeconds can not be less than 3s; raise it, or remove it for no deadline"))
	}
	errs = append(errs, notNegative(int64(ptr.Deref(spec.TTLSecondsAfterFinished, 0)), path.Child("ttlSecondsAfterFinished"))...)
	errs = append(errs, validateRecreateStrategy(spec.Strategy, path.Child("strategy"))...)
	seen := sets.New[string]()
	for i := range spec.Containers {
		name, at := spec.Containers[i].Name, path.Child("containers").Index(i).Child("name")
		switch {
		case name == "":
			errs = append(errs, field.Required(at, "name a container of the Pod"))
		case seen.Has(name):
			errs = append(errs, field.Invalid(at, name, fmt.Sprintf("can not recreate %s multi times; list it once", name)))
		}
		seen.Insert(name)
	}
	return errs
}

func validateRecreateStrategy(strategy *apps.ContainerRecreateRequestStrategy, path *field.Path) field.ErrorList {
	if strategy == nil {
		return nil
	}
	var errs field.ErrorList
	for _, grace := range []struct {
		name  string
		value *int64
	}{
		{"terminationGracePeriodSeconds", strategy.TerminationGracePeriodSeconds},
		{"unreadyGracePeriodSeconds", strategy.UnreadyGracePeriodSeconds},
	} {
		if grace.value != nil && *grace.value < 0 {
			errs = append(errs, field.Invalid(path.Child(grace.name), *grace.value, grace.name+" must be non-negative integer"))
		}
	}
	switch strategy.FailurePolicy {
	case apps.FailContainerRecreateRequestFailurePolicy, apps.IgnoreContainerRecreateRequestFailurePolicy:
	default:
		errs = append(errs, field.Invalid(path.Child("failurePolicy"), strategy.FailurePolicy,
			fmt.Sprintf("unknown failurePolicy %s; use Fail or Ignore", strategy.FailurePolicy)))
	}
	return append(errs, notNegative(int64(strategy.MinStartedSeconds), path.Child("minStartedSeconds"))...)
}

// ValidateContainerRecreateRequestUpdate checks an update of a request.
func ValidateContainerRecreateRequestUpdate(request, old *apps.ContainerRecreateRequest) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&request.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return append(errs, ContainerRecreateRequestFixed(request, old)...)
}

// ContainerRecreateRequestFixed is what an update changes though it is fixed: the spec, the labels by which the
// node's agent finds the request, and the time since when the Pod is out of service, which in
// v1alpha1 is an annotation.
func ContainerRecreateRequestFixed(request, old *apps.ContainerRecreateRequest) field.ErrorList {
	var errs field.ErrorList
	if !apiequality.Semantic.DeepEqual(request.Spec, old.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"),
			"spec of ContainerRecreateRequest is immutable; put the stored one back, or create another request"))
	}
	metadata := field.NewPath("metadata")
	for _, key := range []string{pub.ContainerRecreateRequestPodUIDKey, pub.ContainerRecreateRequestNodeNameKey} {
		if request.Labels[key] != old.Labels[key] {
			errs = append(errs, field.Forbidden(metadata.Child("labels").Key(key), "not allowed to update immutable label "+key))
		}
	}
	const active = pub.ContainerRecreateRequestActiveKey
	if old.Status.CompletionTime == nil && request.Labels[active] != old.Labels[active] {
		errs = append(errs, field.Forbidden(metadata.Child("labels").Key(active),
			"not allowed to update label "+active+" before the request has ended, because the node agent finds the request by this label"))
	}
	if before := outOfServiceSince(old); before != nil && !before.Equal(outOfServiceSince(request)) {
		const key = pub.ContainerRecreateRequestUnreadyAcquiredKey
		errs = append(errs, field.Forbidden(metadata.Child("annotations").Key(key), "not allowed to update immutable annotation "+key))
	}
	return errs
}

func outOfServiceSince(request *apps.ContainerRecreateRequest) *metav1.Time {
	for i := range request.Status.Conditions {
		condition := &request.Status.Conditions[i]
		if condition.Type == apps.ContainerRecreateRequestConditionPreRecreateGrace && condition.Status == metav1.ConditionTrue {
			return &condition.LastTransitionTime
		}
	}
	return nil
}

var recreatePhases = []apps.ContainerRecreateRequestPhase{
	apps.ContainerRecreateRequestPending, apps.ContainerRecreateRequestRecreating, apps.ContainerRecreateRequestCompleted,
	apps.ContainerRecreateRequestSucceeded, apps.ContainerRecreateRequestFailed,
}

// ValidateContainerRecreateRequestStatusUpdate checks an update of a status.
func ValidateContainerRecreateRequestStatusUpdate(request, old *apps.ContainerRecreateRequest) field.ErrorList {
	return replaced(request, old, func(one *apps.ContainerRecreateRequest) field.ErrorList {
		return validateRecreateStatus(&one.Status)
	})
}

func validateRecreateStatus(status *apps.ContainerRecreateRequestStatus) field.ErrorList {
	path := field.NewPath("status")
	errs := validateRecreatePhase(status.Phase, path.Child("phase"))
	for i, state := range status.ContainerRecreateStates {
		errs = append(errs, validateRecreatePhase(state.Phase, path.Child("containerRecreateStates").Index(i).Child("phase"))...)
	}
	return append(errs, metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))...)
}

func validateRecreatePhase(phase apps.ContainerRecreateRequestPhase, path *field.Path) field.ErrorList {
	for _, known := range recreatePhases {
		if phase == "" || phase == known {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, phase, recreatePhases)}
}
