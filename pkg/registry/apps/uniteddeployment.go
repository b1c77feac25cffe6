package apps

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/registry/rest"
)

func unitedDeployment(gate featuregate.FeatureGate) rest.AnyKind {
	type united = apps.UnitedDeployment
	return &rest.Kind[*united]{
		Plural: "uniteddeployments", Singular: "uniteddeployment", Short: []string{"ud"}, Controlled: true,
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *united { return &united{} }, NewList: func() runtime.Object { return &apps.UnitedDeploymentList{} },
		Spec: func(u *united) any { return &u.Spec }, Status: func(u *united) any { return &u.Status },
		Default: each(install.DropLowerBounds, install.AgreeOnUnitedDeployment,
			filled(gate, install.DefaultUnitedDeploymentTemplate)),
		Validate: validation.ValidateUnitedDeployment, ValidateUpdate: validation.ValidateUnitedDeploymentUpdate,
		ValidateStatus: validation.ValidateUnitedDeploymentStatusUpdate, ErrorsIn: validation.UnitedDeploymentErrorsIn,
		WrittenIn: v1alpha1.FormOfCloneSetTemplate,
		Warnings:  templateWarningsAt(subsetTemplate),
		Columns: []rest.Column[*united]{
			number("DESIRED", "Number of desired Pods.", (*united).TotalReplicas),
			number("CURRENT", "Number of existing Pods.", func(u *united) int32 { return u.Status.Replicas }),
			number("UPDATED", "Number of Pods at the update revision.", func(u *united) int32 { return u.Status.UpdatedReplicas }),
			number("READY", "Number of ready Pods.", func(u *united) int32 { return u.Status.ReadyReplicas }),
			rest.Age[*united](),
		},
		Scale: &rest.Scale[*united]{
			Replicas: (*united).TotalReplicas, SetReplicas: func(u *united, n int32) { u.Spec.Replicas = &n },
			Current: func(u *united) int32 { return u.Status.Replicas }, Selector: (*united).PodSelector,
		},
	}
}

// subsetTemplate returns the Pod template of the subsets and its path.
func subsetTemplate(u *apps.UnitedDeployment) (*field.Path, *corev1.PodTemplateSpec) {
	name, template := u.Spec.Template.PodTemplate()
	return field.NewPath("spec", "template", name, "spec", "template"), template
}
