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

// workloadSpread passes its storage of /status to spreads, by which admission reserves subsets.
func workloadSpread(gate featuregate.FeatureGate, spreads *rest.Statuses[apps.WorkloadSpread, v1beta1.WorkloadSpread]) rest.AnyKind {
	type spread = apps.WorkloadSpread
	target := func(w *spread) apps.TargetReference {
		if w.Spec.TargetRef == nil {
			return apps.TargetReference{}
		}
		return *w.Spec.TargetRef
	}
	return &rest.Kind[*spread]{
		Plural: "workloadspreads", Singular: "workloadspread", Short: []string{"ws"}, Controlled: true,
		Exclusive: true, // Two WorkloadSpreads must not have the same target.
		Stored:    v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *spread { return &spread{} }, NewList: func() runtime.Object { return &apps.WorkloadSpreadList{} },
		Spec: func(w *spread) any { return &w.Spec }, Status: func(w *spread) any { return &w.Status },
		Closed:   firstOff(gate, features.WorkloadSpread),
		Validate: validation.ValidateWorkloadSpread, ValidateUpdate: validation.ValidateWorkloadSpreadUpdate,
		Extend: spreads.Open, ValidateStatus: validation.ValidateWorkloadSpreadStatusUpdate, ErrorsIn: validation.WorkloadSpreadErrorsIn,
		Columns: []rest.Column[*spread]{
			text("WorkloadName", "Name of the workload.", func(w *spread) string { return target(w).Name }),
			text("WorkloadKind", "Kind of the workload.", func(w *spread) string { return target(w).Kind }),
			{Name: "Adaptive", Type: "boolean", Description: "Whether Pods that cannot be scheduled move to another subset.",
				Value: func(w *spread) any {
					return w.Spec.ScheduleStrategy.Type == apps.AdaptiveWorkloadSpreadScheduleStrategyType
				}},
			titled("Age", rest.Age[*spread]()),
		},
	}
}
