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

func broadcastJob(gate featuregate.FeatureGate) rest.AnyKind {
	type job = apps.BroadcastJob
	return &rest.Kind[*job]{
		Plural: "broadcastjobs", Singular: "broadcastjob", Short: []string{"bcj"}, Controlled: true,
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *job { return &job{} }, NewList: func() runtime.Object { return &apps.BroadcastJobList{} },
		Spec: func(c *job) any { return &c.Spec }, Status: func(c *job) any { return &c.Status },
		Default:  each(install.DefaultBroadcastJob, filled(gate, install.DefaultBroadcastJobTemplate)),
		Validate: validation.ValidateBroadcastJob, ValidateUpdate: validation.ValidateBroadcastJobUpdate,
		ValidateStatus: validation.ValidateBroadcastJobStatusUpdate,
		Warnings:       templateWarnings(func(c *job) *corev1.PodTemplateSpec { return &c.Spec.Template }),
		Columns: []rest.Column[*job]{
			number("Desired", "Number of nodes that must run the Pod.", func(c *job) int32 { return c.Status.Desired }),
			number("Active", "Number of pending and running Pods.", func(c *job) int32 { return c.Status.Active }),
			number("Succeeded", "Number of succeeded Pods.", func(c *job) int32 { return c.Status.Succeeded }),
			number("Failed", "Number of failed Pods.", func(c *job) int32 { return c.Status.Failed }),
			rest.Age[*job](),
		},
	}
}
