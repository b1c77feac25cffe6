package apps

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

func imageListPullJob(gate featuregate.FeatureGate) rest.AnyKind {
	type job = apps.ImageListPullJob
	return &rest.Kind[*job]{
		Plural: "imagelistpulljobs", Singular: "imagelistpulljob",
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *job { return &job{} }, NewList: func() runtime.Object { return &apps.ImageListPullJobList{} },
		Spec: func(c *job) any { return &c.Spec }, Status: func(c *job) any { return &c.Status },
		Controlled: true, Closed: firstOff(gate, features.KruiseDaemon, features.ImagePullJobGate),
		Validate: validation.ValidateImageListPullJob, ValidateUpdate: validation.ValidateImageListPullJobUpdate,
		ValidateStatus: validation.ValidateImageListPullJobStatusUpdate,
		Columns: []rest.Column[*job]{
			number("TOTAL", "Number of images to pull.", func(c *job) int32 { return c.Status.Desired }),
			number("SUCCEEDED", "Number of images that every selected node has.", func(c *job) int32 { return c.Status.Succeeded }),
			number("COMPLETED", "Number of images that every selected node has pulled or failed to pull.",
				func(c *job) int32 { return c.Status.Completed }),
			rest.Age[*job](),
		},
	}
}
