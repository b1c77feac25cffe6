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

func resourceDistribution(gate featuregate.FeatureGate) rest.AnyKind {
	type distribution = apps.ResourceDistribution
	return &rest.Kind[*distribution]{
		Plural: "resourcedistributions", Singular: "resourcedistribution", Short: []string{"distributor"}, ClusterScoped: true, Controlled: true,
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *distribution { return &distribution{} }, NewList: func() runtime.Object { return &apps.ResourceDistributionList{} },
		Spec: func(d *distribution) any { return &d.Spec }, Status: func(d *distribution) any { return &d.Status },
		Closed:   firstOff(gate, features.ResourceDistributionGate),
		Validate: validation.ValidateResourceDistribution, ValidateUpdate: validation.ValidateResourceDistributionUpdate,
		ValidateStatus: validation.ValidateResourceDistributionStatusUpdate, ErrorsIn: validation.ResourceDistributionErrorsIn,
		Warnings: validation.WarnResourceDistribution,
		Columns: []rest.Column[*distribution]{
			number("TOTAL", "Number of namespaces that must have a copy.", func(d *distribution) int32 { return d.Status.Desired }),
			number("SUCCEED", "Number of namespaces that have the copy.", func(d *distribution) int32 { return d.Status.Succeeded }),
			number("FAILED", "Number of namespaces in which the distribution failed.", func(d *distribution) int32 { return d.Status.Failed }),
		},
	}
}
