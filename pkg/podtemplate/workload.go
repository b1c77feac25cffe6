package podtemplate

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsv1conversion "k8s.io/kubernetes/pkg/apis/apps/v1"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
)

// ValidateStatefulSetSpec runs core's rules for the spec of a StatefulSet of apps/v1 that a controller of ours will create. old
// is the stored spec, nil on create. What is unset is judged as if it had been defaulted. The arguments are not changed. So a
// spec that kube-apiserver would refuse is refused when the outer object is written, and not when the controller creates the
// StatefulSet.
func ValidateStatefulSetSpec(spec, old *appsv1.StatefulSetSpec, path *field.Path) field.ErrorList {
	current, err := asCoreStatefulSet(spec)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	var stored *core.PodTemplateSpec
	if old != nil {
		if stored, err = asCore(&old.Template); err != nil {
			return field.ErrorList{field.InternalError(path, err)}
		}
	}
	options := pod.GetValidationOptionsFromPodTemplate(&current.Template, stored)
	errs := bound(&current.Template.Spec, path.Child("template", "spec"))
	return append(errs, appsvalidation.ValidateStatefulSetSpec(current, path, options, appsvalidation.StatefulSetValidationOptions{})...)
}

// ValidateDeploymentSpec runs core's rules for the spec of a Deployment, as ValidateStatefulSetSpec does.
func ValidateDeploymentSpec(spec, old *appsv1.DeploymentSpec, path *field.Path) field.ErrorList {
	current, err := asCoreDeployment(spec)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	var stored *core.PodTemplateSpec
	if old != nil {
		if stored, err = asCore(&old.Template); err != nil {
			return field.ErrorList{field.InternalError(path, err)}
		}
	}
	options := pod.GetValidationOptionsFromPodTemplate(&current.Template, stored)
	errs := bound(&current.Template.Spec, path.Child("template", "spec"))
	return append(errs, appsvalidation.ValidateDeploymentSpec(current, nil, path, options)...)
}

// asCoreStatefulSet returns a defaulted copy of the spec in core's internal form.
func asCoreStatefulSet(spec *appsv1.StatefulSetSpec) (*apps.StatefulSetSpec, error) {
	holder := &appsv1.StatefulSet{Spec: *spec.DeepCopy()}
	appsv1conversion.SetObjectDefaults_StatefulSet(holder)
	converted := &apps.StatefulSetSpec{}
	if err := appsv1conversion.Convert_v1_StatefulSetSpec_To_apps_StatefulSetSpec(&holder.Spec, converted, nil); err != nil {
		return nil, fmt.Errorf("convert statefulset: %w", err)
	}
	return converted, nil
}

// asCoreDeployment does the same for a Deployment.
func asCoreDeployment(spec *appsv1.DeploymentSpec) (*apps.DeploymentSpec, error) {
	holder := &appsv1.Deployment{Spec: *spec.DeepCopy()}
	appsv1conversion.SetObjectDefaults_Deployment(holder)
	converted := &apps.DeploymentSpec{}
	if err := appsv1conversion.Convert_v1_DeploymentSpec_To_apps_DeploymentSpec(&holder.Spec, converted, nil); err != nil {
		return nil, fmt.Errorf("convert deployment: %w", err)
	}
	return converted, nil
}
