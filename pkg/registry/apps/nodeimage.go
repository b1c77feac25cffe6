package apps

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

// nodeImage takes the clock for the check of the times that nodes report.
func nodeImage(gate featuregate.FeatureGate, clock clock.PassiveClock, secrets *PullSecrets) rest.AnyKind {
	type image = apps.NodeImage
	return &rest.Kind[*image]{
		Plural: "nodeimages", Singular: "nodeimage", ClusterScoped: true, ForNodes: true,
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *image { return &image{} }, NewList: func() runtime.Object { return &apps.NodeImageList{} },
		Spec: func(c *image) any { return &c.Spec }, Status: func(c *image) any { return &c.Status },
		Controlled: true, Closed: firstOff(gate, features.KruiseDaemon), Default: install.DefaultNodeImage,
		Validate: validation.ValidateNodeImage, ValidateUpdate: validation.ValidateNodeImageUpdate,
		ValidateStatus: func(c, old *image) field.ErrorList {
			return validation.ValidateNodeImageStatusUpdate(c, old, clock.Now())
		},
		Extend: secrets.extend,
		Columns: []rest.Column[*image]{
			number("DESIRED", "Number of tags to pull.", func(c *image) int32 { return c.Status.Desired }),
			number("PULLING", "Number of tags that are being pulled.", func(c *image) int32 { return c.Status.Pulling }),
			number("SUCCEED", "Number of tags that were pulled.", func(c *image) int32 { return c.Status.Succeeded }),
			number("FAILED", "Number of tags that failed.", func(c *image) int32 { return c.Status.Failed }),
			rest.Age[*image](),
		},
	}
}
