package validation

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
)

// validateSidecarUpdateStrategy judges the settings of a rolling update only where there is one.
func validateSidecarUpdateStrategy(strategy *apps.SidecarSetUpdateStrategy, path *field.Path) field.ErrorList {
	errs := validateSelectingIfSet("updateStrategy", strategy.Selector, path.Child("selector"))
	switch strategy.Type {
	case apps.NotUpdateSidecarSetStrategyType:
		return errs
	case apps.RollingUpdateSidecarSetStrategyType:
	default:
		return append(errs, field.NotSupported(path.Child("type"), strategy.Type, []apps.SidecarSetUpdateStrategyType{
			apps.RollingUpdateSidecarSetStrategyType, apps.NotUpdateSidecarSetStrategyType,
		}))
	}
	partition := strategy.Partition
	if strategy.Selector != nil && partition != nil && (partition.Type == intstr.String || partition.IntVal != 0) {
		errs = append(errs, field.Forbidden(path.Child("partition"), "partition and selector cannot be used together; remove one of them"))
	}
	errs = append(errs, validateAmount(strategy.Partition, path.Child("partition"))...)
	errs = append(errs, validateAmount(strategy.MaxUnavailable, path.Child("maxUnavailable"))...)
	errs = append(errs, validatePriority(strategy.PriorityStrategy, path.Child("priorityStrategy"))...)
	return append(errs, validateScatter(strategy.ScatterStrategy, path.Child("scatterStrategy"))...)
}

// validateInjectRevision checks how a stored revision is named. Whether it exists is an admission
// plugin's question.
func validateInjectRevision(revision *apps.SidecarSetInjectRevision, path *field.Path) field.ErrorList {
	if revision == nil {
		return nil
	}
	var errs field.ErrorList
	if ptr.Deref(revision.RevisionName, "") == "" && ptr.Deref(revision.CustomVersion, "") == "" {
		errs = append(errs, field.Required(path, "revisionName and customVersion cannot both be empty; name a stored revision by one of them"))
	}
	switch revision.Policy {
	case "", apps.AlwaysSidecarSetInjectRevisionPolicy, apps.PartialSidecarSetInjectRevisionPolicy:
	default:
		errs = append(errs, field.NotSupported(path.Child("policy"), revision.Policy, []apps.SidecarSetInjectRevisionPolicy{
			apps.AlwaysSidecarSetInjectRevisionPolicy, apps.PartialSidecarSetInjectRevisionPolicy,
		}))
	}
	return errs
}

// validatePatchPodMetadata checks the annotations for Pods. Which keys an administrator allows is an
// admission plugin's question.
func validatePatchPodMetadata(patches []apps.SidecarSetPatchPodMetadata, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	all := map[string]string{}
	for i := range patches {
		patch, at := &patches[i], path.Index(i)
		if len(patch.Annotations) == 0 {
			errs = append(errs, field.Required(at.Child("annotations"), "set the annotations that Pods get"))
		}
		switch patch.PatchPolicy {
		case apps.SidecarSetRetainPatchPolicy, apps.SidecarSetOverwritePatchPolicy, apps.SidecarSetMergePatchJSONPatchPolicy:
		default:
			errs = append(errs, field.NotSupported(at.Child("patchPolicy"), patch.PatchPolicy, []apps.SidecarSetPatchPolicyType{
				apps.SidecarSetRetainPatchPolicy, apps.SidecarSetOverwritePatchPolicy, apps.SidecarSetMergePatchJSONPatchPolicy,
			}))
		}
		for _, key := range slices.Sorted(maps.Keys(patch.Annotations)) {
			_, repeated := all[key]
			errs = append(errs, validatePatchedAnnotation(key, patch, repeated, at.Child("annotations").Key(key))...)
			all[key] = patch.Annotations[key]
		}
	}
	if err := apivalidation.ValidateAnnotationsSize(all); err != nil {
		errs = append(errs, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))
	}
	return errs
}

func validatePatchedAnnotation(key string, patch *apps.SidecarSetPatchPodMetadata, repeated bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if repeated {
		errs = append(errs, field.Duplicate(path, key))
	}
	for _, message := range validation.IsQualifiedName(strings.ToLower(key)) {
		errs = append(errs, field.Invalid(path, key, message))
	}
	value := patch.Annotations[key]
	if patch.PatchPolicy == apps.SidecarSetMergePatchJSONPatchPolicy && !json.Valid([]byte(value)) {
		errs = append(errs, field.Invalid(path, value, "must be JSON, because MergePatchJson merges it"))
	}
	return errs
}
