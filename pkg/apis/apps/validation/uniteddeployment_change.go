package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

// validateSubsetTemplateChange refuses changes that the workloads of the subsets cannot make. Another kind
// of template is allowed, because it creates new workloads.
func validateSubsetTemplateChange(template, old *apps.SubsetTemplate, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if set, stored := template.StatefulSetTemplate, old.StatefulSetTemplate; set != nil && stored != nil {
		errs = append(errs, validateNativeStatefulSetChange(set, stored, path.Child("statefulSetTemplate", "spec"))...)
	}
	if set, stored := template.AdvancedStatefulSetTemplate, old.AdvancedStatefulSetTemplate; set != nil && stored != nil {
		errs = append(errs, validateAdvancedStatefulSetChange(set, stored, path.Child("advancedStatefulSetTemplate", "spec"))...)
	}
	if set, stored := template.CloneSetTemplate, old.CloneSetTemplate; set != nil && stored != nil {
		errs = append(errs, validateCloneSetInPlaceOnly(&set.Spec, &stored.Spec, path.Child("cloneSetTemplate", "spec"))...)
	}
	return errs
}

// The fields of the templates that can change. selector has no effect in a template. replicas is refused
// there as such, so that only its removal is left.
var (
	mutableInStatefulSets = []string{
		"template", "updateStrategy", "persistentVolumeClaimRetentionPolicy", "minReadySeconds", "ordinals", "replicas", "selector",
	}
	mutableInAdvancedStatefulSets = []string{"template", "updateStrategy", "replicas", "selector"}
)

func validateNativeStatefulSetChange(set, old *apps.StatefulSetTemplateSpec, path *field.Path) field.ErrorList {
	return immutable(changedFields(&set.Spec, &old.Spec), mutableInStatefulSets, path)
}

// validateAdvancedStatefulSetChange compares in the form of v1beta1, which has the names of the fields.
func validateAdvancedStatefulSetChange(set, old *apps.AdvancedStatefulSetTemplateSpec, path *field.Path) field.ErrorList {
	spec, err := shownStatefulSet(&set.Spec)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	stored, err := shownStatefulSet(&old.Spec)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	errs := immutable(changedFields(spec, stored), mutableInAdvancedStatefulSets, path)
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		errs = append(errs, validateInPlaceOnly(rolling.PodUpdatePolicy, &set.Spec.Template, &old.Spec.Template, path)...)
	}
	return errs
}

// immutable refuses the changed fields that are not mutable.
func immutable(changed, mutable []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range changed {
		if !slices.Contains(mutable, name) {
			errs = append(errs, field.Forbidden(path.Child(name),
				"cannot be changed in this template; put the stored value back, or create another UnitedDeployment"))
		}
	}
	return errs
}
