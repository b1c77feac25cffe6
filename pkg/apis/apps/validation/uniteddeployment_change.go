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

// mutableInStatefulSets are the fields that core allows to change in a StatefulSet, and selector, which
// has no effect in a template.
var mutableInStatefulSets = []string{
	"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy",
	"minReadySeconds", "selector",
}

func validateNativeStatefulSetChange(set, old *apps.StatefulSetTemplateSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range changedFields(&set.Spec, &old.Spec) {
		if !slices.Contains(mutableInStatefulSets, name) {
			errs = append(errs, field.Forbidden(path.Child(name),
				"cannot be changed in a StatefulSet; put the stored value back, or create another UnitedDeployment"))
		}
	}
	return errs
}

func validateAdvancedStatefulSetChange(set, old *apps.AdvancedStatefulSetTemplateSpec, path *field.Path) field.ErrorList {
	spec, err := defaultedStatefulSet(&set.Spec)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	stored, err := defaultedStatefulSet(&old.Spec)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	spec.Selector = stored.Selector // it has no effect
	return validateStatefulSetChange(spec, stored, path)
}
