package apps

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/registry/rest"
)

// sidecarSet takes the clock for the time since when Pods are injected.
func sidecarSet(clock clock.PassiveClock) rest.AnyKind {
	type set = apps.SidecarSet
	return &rest.Kind[*set]{
		Plural: "sidecarsets", Singular: "sidecarset", ClusterScoped: true,
		Controlled: true,
		Exclusive:  true, // Two SidecarSets must not add the same container to a Pod.
		Stored:     v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *set { return &set{} }, NewList: func() runtime.Object { return &apps.SidecarSetList{} },
		Spec: func(c *set) any { return &c.Spec }, Status: func(c *set) any { return &c.Status },
		Keep: install.KeepSidecarSet,
		Default: func(c, old *set) {
			install.DefaultSidecarSet(c, old)
			recordInjection(c, old, clock.Now())
		},
		Validate: validation.ValidateSidecarSet, ValidateUpdate: validation.ValidateSidecarSetUpdate,
		ValidateStatus: validation.ValidateSidecarSetStatusUpdate, ErrorsIn: validation.SidecarSetErrorsIn,
		Columns: []rest.Column[*set]{
			number("MATCHED", "Number of matched Pods.", func(c *set) int32 { return c.Status.MatchedPods }),
			number("UPDATED", "Number of matched Pods that are up to date.", func(c *set) int32 { return c.Status.UpdatedPods }),
			number("READY", "Number of matched Pods that are ready.", func(c *set) int32 { return c.Status.ReadyPods }),
			rest.Age[*set](),
		},
	}
}
