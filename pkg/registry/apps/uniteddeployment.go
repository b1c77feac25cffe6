package apps

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/podtemplate"
	"kruise.io/kruise/pkg/registry/rest"
)

func unitedDeployment(gate featuregate.FeatureGate) rest.Row {
	type united = apps.UnitedDeployment
	return &rest.Kind[*united]{
		Plural: "uniteddeployments", Singular: "uniteddeployment", Short: []string{"ud"},
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *united { return &united{} }, NewList: func() runtime.Object { return &apps.UnitedDeploymentList{} },
		Spec: func(u *united) any { return &u.Spec }, Status: func(u *united) any { return &u.Status },
		Default:  unlessOff(gate, install.DefaultUnitedDeploymentTemplate),
		Validate: validation.ValidateUnitedDeployment, ValidateUpdate: validation.ValidateUnitedDeploymentUpdate,
		ValidateStatus: validation.ValidateUnitedDeploymentStatusUpdate, ErrorsIn: validation.UnitedDeploymentErrorsIn,
		Warnings: warnOfSubsetTemplate,
		Columns: []rest.Column[*united]{
			number("DESIRED", "Pods that are wanted.", totalReplicas),
			number("CURRENT", "Pods that exist.", func(u *united) int32 { return u.Status.Replicas }),
			number("UPDATED", "Pods at the newest revision.", func(u *united) int32 { return u.Status.UpdatedReplicas }),
			number("READY", "Pods that are ready.", func(u *united) int32 { return u.Status.ReadyReplicas }),
			rest.Age[*united](),
		},
		Scale: &rest.Scale[*united]{
			Replicas: totalReplicas, SetReplicas: func(u *united, n int32) { u.Spec.Replicas = &n },
			Current: func(u *united) int32 { return u.Status.Replicas }, Selector: podSelector,
		},
	}
}

// totalReplicas is the number of Pods that are wanted: where it is not said, the sum of the subsets.
func totalReplicas(u *apps.UnitedDeployment) int32 {
	if u.Spec.Replicas != nil {
		return *u.Spec.Replicas
	}
	sum := int32(0)
	for i := range u.Spec.Topology.Subsets {
		if replicas := u.Spec.Topology.Subsets[i].Replicas; replicas != nil {
			sum += replicas.IntVal
		}
	}
	return sum
}

// podSelector is the one that the controller publishes, which may leave out reserved Pods.
func podSelector(u *apps.UnitedDeployment) *metav1.LabelSelector {
	if published, err := metav1.ParseToLabelSelector(u.Status.LabelSelector); err == nil && u.Status.LabelSelector != "" {
		return published
	}
	return u.Spec.Selector
}

func warnOfSubsetTemplate(ctx context.Context, u, old *apps.UnitedDeployment) []string {
	name, template := podTemplateOf(u)
	if template == nil {
		return nil
	}
	var stored *corev1.PodTemplateSpec
	if old != nil {
		if before, oldTemplate := podTemplateOf(old); before == name {
			stored = oldTemplate
		}
	}
	return podtemplate.Warnings(ctx, template, stored, field.NewPath("spec", "template", name, "spec", "template"))
}

// podTemplateOf is the Pod template in the template that is set, and the field of the latter.
func podTemplateOf(u *apps.UnitedDeployment) (string, *corev1.PodTemplateSpec) {
	switch template := &u.Spec.Template; {
	case template.StatefulSetTemplate != nil:
		return "statefulSetTemplate", &template.StatefulSetTemplate.Spec.Template
	case template.AdvancedStatefulSetTemplate != nil:
		return "advancedStatefulSetTemplate", &template.AdvancedStatefulSetTemplate.Spec.Template
	case template.CloneSetTemplate != nil:
		return "cloneSetTemplate", &template.CloneSetTemplate.Spec.Template
	case template.DeploymentTemplate != nil:
		return "deploymentTemplate", &template.DeploymentTemplate.Spec.Template
	}
	return "", nil
}
