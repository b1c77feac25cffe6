package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/registry/rest"
)

// cloneSet needs ErrorsIn, because its versions have some fields at different paths.
func cloneSet(gate featuregate.FeatureGate) rest.AnyKind {
	type set = apps.CloneSet
	return &rest.Kind[*set]{
		Plural: "clonesets", Singular: "cloneset", Short: []string{"clone"}, Controlled: true,
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *set { return &set{} }, NewList: func() runtime.Object { return &apps.CloneSetList{} },
		Spec: func(c *set) any { return &c.Spec }, Status: func(c *set) any { return &c.Status },
		Default:  each(install.AgreeOnCloneSet, filled(gate, install.DefaultCloneSetTemplate)),
		Validate: validation.ValidateCloneSet, ValidateUpdate: validation.ValidateCloneSetUpdate,
		ValidateStatus: validation.ValidateCloneSetStatusUpdate, ErrorsIn: validation.CloneSetErrorsIn,
		Warnings: inTurn(validation.WarnCloneSet, templateWarnings(func(c *set) *corev1.PodTemplateSpec { return &c.Spec.Template })),
		Columns: []rest.Column[*set]{
			number("DESIRED", "Number of desired Pods.", func(c *set) int32 { return ptr.Deref(c.Spec.Replicas, 1) }),
			number("UPDATED", "Number of Pods at the update revision.", func(c *set) int32 { return c.Status.UpdatedReplicas }),
			number("UPDATED_READY", "Number of ready Pods at the update revision.", func(c *set) int32 { return c.Status.UpdatedReadyReplicas }),
			number("UPDATED_AVAILABLE", "Number of available Pods at the update revision.",
				func(c *set) int32 { return c.Status.UpdatedAvailableReplicas }),
			number("READY", "Number of ready Pods.", func(c *set) int32 { return c.Status.ReadyReplicas }),
			number("TOTAL", "Number of existing Pods.", func(c *set) int32 { return c.Status.Replicas }),
			rest.Age[*set](),
			wide("CONTAINERS", "Names of the containers.", func(c *set) string { return containerNames(&c.Spec.Template.Spec) }),
			wide("IMAGES", "Images of the containers.", func(c *set) string { return images(&c.Spec.Template.Spec) }),
			wide("SELECTOR", "Label selector of the Pods.", func(c *set) string { return c.Status.LabelSelector }),
		},
		Scale: &rest.Scale[*set]{
			Replicas: func(c *set) int32 { return ptr.Deref(c.Spec.Replicas, 1) }, SetReplicas: func(c *set, n int32) { c.Spec.Replicas = &n },
			Current:  func(c *set) int32 { return c.Status.Replicas },
			Selector: func(c *set) *metav1.LabelSelector { return c.Spec.Selector },
		},
	}
}
