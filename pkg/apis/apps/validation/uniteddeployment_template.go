package validation

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
)

// validateSubsetTemplate checks that one template is there, and judges it as the workload that
// comes of it. matcher is nil where the selector has errors of its own.
func validateSubsetTemplate(template, old *apps.SubsetTemplate, matcher labels.Selector, path *field.Path) field.ErrorList {
	if old == nil {
		old = &apps.SubsetTemplate{}
	}
	var (
		errs field.ErrorList
		seen int
	)
	judge := func(name string, metadata *metav1.ObjectMeta, pod *corev1.PodTemplateSpec, own func(at *field.Path) field.ErrorList) {
		at := path.Child(name)
		if seen++; seen > 1 {
			errs = append(errs, field.Forbidden(at, "only one template is allowed; keep one of them"))
		}
		errs = append(errs, validateTemplateMetadata(metadata, pod, matcher, at)...)
		errs = append(errs, own(at.Child("spec"))...)
	}
	if set := template.StatefulSetTemplate; set != nil {
		judge("statefulSetTemplate", &set.ObjectMeta, &set.Spec.Template, func(at *field.Path) field.ErrorList {
			return validateNativeStatefulSet(set, old.StatefulSetTemplate, at)
		})
	}
	if set := template.AdvancedStatefulSetTemplate; set != nil {
		judge("advancedStatefulSetTemplate", &set.ObjectMeta, &set.Spec.Template, func(at *field.Path) field.ErrorList {
			return validateAdvancedStatefulSet(set, old.AdvancedStatefulSetTemplate, at)
		})
	}
	if set := template.CloneSetTemplate; set != nil {
		judge("cloneSetTemplate", &set.ObjectMeta, &set.Spec.Template, func(at *field.Path) field.ErrorList {
			return validateEmbeddedCloneSet(set, old.CloneSetTemplate, at)
		})
	}
	if deployment := template.DeploymentTemplate; deployment != nil {
		judge("deploymentTemplate", &deployment.ObjectMeta, &deployment.Spec.Template, func(at *field.Path) field.ErrorList {
			return validateEmbeddedDeployment(deployment, old.DeploymentTemplate, at)
		})
	}
	if seen == 0 {
		errs = append(errs, field.Required(path,
			"set statefulSetTemplate, advancedStatefulSetTemplate, cloneSetTemplate or deploymentTemplate"))
	}
	return errs
}

// validateTemplateMetadata checks the labels of a workload and of its Pods.
func validateTemplateMetadata(
	metadata *metav1.ObjectMeta, pod *corev1.PodTemplateSpec, matcher labels.Selector, path *field.Path,
) field.ErrorList {
	at := path.Child("metadata")
	errs := metav1validation.ValidateLabels(metadata.Labels, at.Child("labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(metadata.Annotations, at.Child("annotations"))...)
	if matcher != nil {
		errs = append(errs, selects(matcher, metadata.Labels, at.Child("labels"))...)
		errs = append(errs, selects(matcher, pod.Labels, path.Child("spec", "template", "metadata", "labels"))...)
	}
	return errs
}

// validateUnused forbids fields that are set for each subset instead of in the template.
func validateUnused(replicas, partition *int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if replicas != nil {
		errs = append(errs, field.Forbidden(path.Child("replicas"), "will not be used; set spec.replicas and spec.topology instead"))
	}
	if partition != nil {
		errs = append(errs, field.Forbidden(path.Child("updateStrategy", "rollingUpdate", "partition"),
			"will not be used; set spec.updateStrategy.manualUpdate.partitions instead"))
	}
	return errs
}

func validateNativeStatefulSet(set, old *apps.StatefulSetTemplateSpec, path *field.Path) field.ErrorList {
	var partition *int32
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		partition = rolling.Partition
	}
	errs := validateUnused(set.Spec.Replicas, partition, path)
	spec := set.Spec.DeepCopy()
	spec.Replicas = nil
	spec.Selector = standIn(&spec.Template)
	var stored *appsv1.StatefulSetSpec
	if old != nil {
		stored = &old.Spec
	}
	return append(errs, podtemplate.ValidateStatefulSetSpec(spec, stored, path)...)
}

func validateAdvancedStatefulSet(set, old *apps.AdvancedStatefulSetTemplateSpec, path *field.Path) field.ErrorList {
	var partition *int32
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		partition = rolling.Partition
	}
	errs := validateUnused(set.Spec.Replicas, partition, path)
	spec := set.Spec.DeepCopy()
	spec.Replicas = nil
	var stored *apps.StatefulSetSpec
	if old != nil {
		stored = &old.Spec
	}
	defaulted, err := defaultedStatefulSet(spec)
	if err != nil {
		return append(errs, field.InternalError(path, err))
	}
	return append(errs, validateStatefulSetOwnFields(defaulted, stored, path)...)
}

// validateEmbeddedCloneSet does not check replicas and partition, which have no effect.
func validateEmbeddedCloneSet(set, old *apps.CloneSetTemplateSpec, path *field.Path) field.ErrorList {
	spec := set.Spec.DeepCopy()
	spec.Replicas = nil
	if spec.UpdateStrategy.RollingUpdate != nil {
		spec.UpdateStrategy.RollingUpdate.Partition = nil
	}
	var stored *apps.CloneSetSpec
	if old != nil {
		stored = &old.Spec
	}
	defaulted, err := defaultedCloneSet(spec)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	return validateCloneSetOwnFields(defaulted, stored, path)
}

func validateEmbeddedDeployment(deployment, old *apps.DeploymentTemplateSpec, path *field.Path) field.ErrorList {
	errs := validateUnused(deployment.Spec.Replicas, nil, path)
	spec := deployment.Spec.DeepCopy()
	spec.Replicas = nil
	spec.Selector = standIn(&spec.Template)
	var stored *appsv1.DeploymentSpec
	if old != nil {
		stored = &old.Spec
	}
	return append(errs, podtemplate.ValidateDeploymentSpec(spec, stored, path)...)
}

// standIn is a selector that the template has a label for: the template's own selector has no
// effect, and that of the UnitedDeployment is judged elsewhere.
func standIn(template *corev1.PodTemplateSpec) *metav1.LabelSelector {
	const key = "stand-in"
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Labels[key] = ""
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: ""}}
}
