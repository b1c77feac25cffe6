package apps

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

func imagePullJob(gate featuregate.FeatureGate) rest.AnyKind {
	type job = apps.ImagePullJob
	return &rest.Kind[*job]{
		Plural: "imagepulljobs", Singular: "imagepulljob",
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *job { return &job{} }, NewList: func() runtime.Object { return &apps.ImagePullJobList{} },
		Spec: func(c *job) any { return &c.Spec }, Status: func(c *job) any { return &c.Status },
		Controlled: true, Closed: firstOff(gate, features.KruiseDaemon, features.ImagePullJobGate), Default: install.DefaultImagePullJob,
		Validate: validation.ValidateImagePullJob, ValidateUpdate: validation.ValidateImagePullJobUpdate,
		ValidateStatus: validation.ValidateImagePullJobStatusUpdate,
		Columns: []rest.Column[*job]{
			number("TOTAL", "Number of selected nodes.", func(c *job) int32 { return c.Status.Desired }),
			number("ACTIVE", "Number of nodes that have not finished.", func(c *job) int32 { return c.Status.Active }),
			number("SUCCEED", "Number of nodes that have the image.", func(c *job) int32 { return c.Status.Succeeded }),
			number("FAILED", "Number of nodes that failed to pull the image.", func(c *job) int32 { return c.Status.Failed }),
			rest.Age[*job](),
			text("MESSAGE", "Message about the progress.", func(c *job) string { return c.Status.Message }),
		},
	}
}
