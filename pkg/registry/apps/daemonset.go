package apps

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/registry/rest"
)

// daemonSet does not default the template on writes. The template is stored as the user wrote it.
func daemonSet(featuregate.FeatureGate) rest.AnyKind {
	type set = apps.DaemonSet
	return &rest.Kind[*set]{
		Plural: "daemonsets", Singular: "daemonset", Short: []string{"daemon", "ads"}, Controlled: true,
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *set { return &set{} }, NewList: func() runtime.Object { return &apps.DaemonSetList{} },
		Spec: func(d *set) any { return &d.Spec }, Status: func(d *set) any { return &d.Status },
		Default:  install.AgreeOnDaemonSet,
		Validate: validation.ValidateDaemonSet, ValidateUpdate: validation.ValidateDaemonSetUpdate,
		ValidateStatus: validation.ValidateDaemonSetStatusUpdate,
		Warnings:       inTurn(validation.WarnDaemonSet, templateWarnings(func(d *set) *corev1.PodTemplateSpec { return &d.Spec.Template })),
		Columns: []rest.Column[*set]{
			number("DESIRED", "Number of nodes that must run the Pod.", func(d *set) int32 { return d.Status.DesiredNumberScheduled }),
			number("CURRENT", "Number of these nodes that have a Pod.", func(d *set) int32 { return d.Status.CurrentNumberScheduled }),
			number("READY", "Number of these nodes that have a ready Pod.", func(d *set) int32 { return d.Status.NumberReady }),
			number("UP-TO-DATE", "Number of these nodes whose Pod is at the update revision.",
				func(d *set) int32 { return d.Status.UpdatedNumberScheduled }),
			number("AVAILABLE", "Number of these nodes that have an available Pod.", func(d *set) int32 { return d.Status.NumberAvailable }),
			rest.Age[*set](),
			wide("CONTAINERS", "Names of the containers.", func(d *set) string { return containerNames(&d.Spec.Template.Spec) }),
			wide("IMAGES", "Images of the containers.", func(d *set) string { return images(&d.Spec.Template.Spec) }),
		},
	}
}
