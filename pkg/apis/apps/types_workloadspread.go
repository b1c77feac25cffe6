package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// WorkloadSpreadScheduleStrategyType defines what happens to Pods that cannot be scheduled.
type WorkloadSpreadScheduleStrategyType string

const (
	// FixedWorkloadSpreadScheduleStrategyType leaves Pods in their subset.
	FixedWorkloadSpreadScheduleStrategyType WorkloadSpreadScheduleStrategyType = "Fixed"
	// AdaptiveWorkloadSpreadScheduleStrategyType moves Pods on to the next subset.
	AdaptiveWorkloadSpreadScheduleStrategyType WorkloadSpreadScheduleStrategyType = "Adaptive"
)

// WorkloadSpreadSubsetConditionType is the type of a condition of a subset.
type WorkloadSpreadSubsetConditionType string

// SubsetSchedulable reports whether Pods can be scheduled in the subset.
const SubsetSchedulable WorkloadSpreadSubsetConditionType = "Schedulable"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WorkloadSpread spreads the Pods of a workload over subsets of nodes.
type WorkloadSpread struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   WorkloadSpreadSpec
	Status WorkloadSpreadStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WorkloadSpreadList is a list of WorkloadSpreads.
type WorkloadSpreadList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []WorkloadSpread
}

// WorkloadSpreadSpec defines which workload is spread, and over which subsets. The fields are explained in v1beta1.
type WorkloadSpreadSpec struct {
	TargetRef        *TargetReference
	TargetFilter     *TargetFilter
	Subsets          []WorkloadSpreadSubset
	ScheduleStrategy WorkloadSpreadScheduleStrategy
}

// TargetFilter picks a part of a workload's Pods.
type TargetFilter struct {
	Selector         *metav1.LabelSelector
	ReplicasPathList []string
}

// WorkloadSpreadScheduleStrategy defines what happens to Pods that cannot be scheduled.
type WorkloadSpreadScheduleStrategy struct {
	Type     WorkloadSpreadScheduleStrategyType
	Adaptive *AdaptiveWorkloadSpreadStrategy
}

// AdaptiveWorkloadSpreadStrategy contains the settings of type Adaptive.
type AdaptiveWorkloadSpreadStrategy struct {
	DisableSimulationSchedule bool
	RescheduleCriticalSeconds *int32
}

// WorkloadSpreadSubset is where Pods go. Its patch is JSON in one form: see CanonicalJSON.
type WorkloadSpreadSubset struct {
	Name                  string
	RequiredNodeSelector  *corev1.NodeSelectorTerm
	PreferredNodeSelector []corev1.PreferredSchedulingTerm
	Tolerations           []corev1.Toleration
	MaxReplicas           *intstr.IntOrString
	Patch                 *runtime.RawExtension
}

// WorkloadSpreadStatus is the observed state.
type WorkloadSpreadStatus struct {
	ObservedGeneration      int64
	SubsetStatuses          []WorkloadSpreadSubsetStatus
	VersionedSubsetStatuses map[string]WorkloadSpreadSubsetStatuses
}

// WorkloadSpreadSubsetStatuses are the statuses of all subsets, in the order of the spec.
type WorkloadSpreadSubsetStatuses []WorkloadSpreadSubsetStatus

// WorkloadSpreadSubsetStatus is what the controller observed of a subset.
type WorkloadSpreadSubsetStatus struct {
	Name            string
	Conditions      []WorkloadSpreadSubsetCondition
	Replicas        int32
	MissingReplicas int32
	CreatingPods    map[string]metav1.Time
	DeletingPods    map[string]metav1.Time
}

// WorkloadSpreadSubsetCondition is one observation about a subset.
type WorkloadSpreadSubsetCondition struct {
	Type               WorkloadSpreadSubsetConditionType
	Status             corev1.ConditionStatus
	LastTransitionTime metav1.Time
	Reason             string
	Message            string
}
