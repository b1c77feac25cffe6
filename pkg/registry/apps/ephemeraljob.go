package apps

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/registry/rest"
)

func ephemeralJob(gate featuregate.FeatureGate) rest.AnyKind {
	type job = apps.EphemeralJob
	return &rest.Kind[*job]{
		Plural: "ephemeraljobs", Singular: "ephemeraljob", Short: []string{"ejob"},
		Stored: v1alpha1.SchemeGroupVersion, Served: []schema.GroupVersion{v1alpha1.SchemeGroupVersion},
		New: func() *job { return &job{} }, NewList: func() runtime.Object { return &apps.EphemeralJobList{} },
		Spec: func(c *job) any { return &c.Spec }, Status: func(c *job) any { return &c.Status },
		Default:  unlessOff(gate, install.DefaultEphemeralJobTemplate),
		Validate: validation.ValidateEphemeralJob, ValidateUpdate: validation.ValidateEphemeralJobUpdate,
		ValidateStatus: validation.ValidateEphemeralJobStatusUpdate,
		Columns: []rest.Column[*job]{
			text("STATUS", "How far the job is.", func(c *job) string { return string(c.Status.Phase) }),
			number("MATCH", "Pods that the job is for.", func(c *job) int32 { return c.Status.Match }),
			number("SUCCEED", "Pods in which all containers ended well.", func(c *job) int32 { return c.Status.Succeeded }),
			number("FAILED", "Pods in which a container failed.", func(c *job) int32 { return c.Status.Failed }),
			number("RUNNING", "Pods in which a container runs.", func(c *job) int32 { return c.Status.Running }),
			number("WAITING", "Pods whose containers have yet to start.", func(c *job) int32 { return c.Status.Waiting }),
			rest.Age[*job](),
		},
	}
}
