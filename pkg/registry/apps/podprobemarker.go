package apps

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

func podProbeMarker(gate featuregate.FeatureGate) rest.AnyKind {
	type marker = apps.PodProbeMarker
	return &rest.Kind[*marker]{
		Plural: "podprobemarkers", Singular: "podprobemarker", Controlled: true,
		Stored: v1alpha1.SchemeGroupVersion, Served: []schema.GroupVersion{v1alpha1.SchemeGroupVersion},
		New: func() *marker { return &marker{} }, NewList: func() runtime.Object { return &apps.PodProbeMarkerList{} },
		Spec: func(c *marker) any { return &c.Spec }, Status: func(c *marker) any { return &c.Status },
		Closed:   firstOff(gate, features.KruiseDaemon, features.PodProbeMarkerGate),
		Validate: validation.ValidatePodProbeMarker, ValidateUpdate: validation.ValidatePodProbeMarkerUpdate,
		ValidateStatus: validation.ValidatePodProbeMarkerStatusUpdate,
		Columns:        []rest.Column[*marker]{rest.Age[*marker]()},
	}
}
