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
		Plural: "ephemeraljobs", Singular: "ephemeraljob", Short: []string{"ejob"}, Controlled: true,
		Stored: v1alpha1.SchemeGroupVersion, Served: []schema.GroupVersion{v1alpha1.SchemeGroupVersion},
		New: func() *job { return &job{} }, NewList: func() runtime.Object { return &apps.EphemeralJobList{} },
		Spec: func(c *job) any { return &c.Spec }, Status: func(c *job) any { return &c.Status },
		Default:  unlessOff(gate, install.DefaultEphemeralJobTemplate),
		Validate: validation.ValidateEphemeralJob, ValidateUpdate: validation.ValidateEphemeralJobUpdate,
		ValidateStatus: validation.ValidateEphemeralJobStatusUpdate,
		Columns: []rest.Column[*job]{
			text("STATUS", "Phase of the job.", func(c *job) string { return string(c.Status.Phase) }),
			number("MATCH", "Number of Pods that the job matches.", func(c *job) int32 { return c.Status.Match }),
			number("SUCCEED", "Number of Pods in which all containers succeeded.", func(c *job) int32 { return c.Status.Succeeded }),
			number("FAILED", "Number of Pods in which a container failed.", func(c *job) int32 { return c.Status.Failed }),
			number("RUNNING", "Number of Pods in which a container runs.", func(c *job) int32 { return c.Status.Running }),
			number("WAITING", "Number of Pods whose containers have not started.", func(c *job) int32 { return c.Status.Waiting }),
			rest.Age[*job](),
		},
	}
}
