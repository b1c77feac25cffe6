package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UpdateStrategyType defines how a UnitedDeployment is updated.
type UpdateStrategyType string

// ManualUpdateStrategyType updates each subset down to its partition.
const ManualUpdateStrategyType UpdateStrategyType = "Manual"

// UnitedDeploymentScheduleStrategyType defines how Pods are distributed to subsets.
type UnitedDeploymentScheduleStrategyType string

const (
	// FixedUnitedDeploymentScheduleStrategyType gives each subset the replicas that topology
	// defines.
	FixedUnitedDeploymentScheduleStrategyType UnitedDeploymentScheduleStrategyType = "Fixed"
	// AdaptiveUnitedDeploymentScheduleStrategyType moves Pods that cannot be scheduled to
	// other subsets.
	AdaptiveUnitedDeploymentScheduleStrategyType UnitedDeploymentScheduleStrategyType = "Adaptive"
)

// UnitedDeploymentConditionType is the type of a condition of a UnitedDeployment.
type UnitedDeploymentConditionType string

const (
	// SubsetProvisioned reports whether the workloads of all subsets exist.
	SubsetProvisioned UnitedDeploymentConditionType = "SubsetProvisioned"
	// SubsetUpdated reports whether the workloads of all subsets are up to date.
	SubsetUpdated UnitedDeploymentConditionType = "SubsetUpdated"
	// SubsetFailure means that a subset failed.
	SubsetFailure UnitedDeploymentConditionType = "SubsetFailure"
	// UnitedDeploymentUpdated reports whether all Pods are at the newest revision.
	UnitedDeploymentUpdated UnitedDeploymentConditionType = "UnitedDeploymentUpdated"
)

// UnitedDeploymentSubsetConditionType is the type of a condition of a subset.
type UnitedDeploymentSubsetConditionType string

// UnitedDeploymentSubsetSchedulable reports whether the Pods of the subset can be scheduled.
const UnitedDeploymentSubsetSchedulable UnitedDeploymentSubsetConditionType = "Schedulable"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// UnitedDeployment keeps one workload for each subset of nodes.
type UnitedDeployment struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   UnitedDeploymentSpec
	Status UnitedDeploymentStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// UnitedDeploymentList is a list of UnitedDeployments.
type UnitedDeploymentList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []UnitedDeployment
}

// UnitedDeploymentSpec is the desired state. The fields are explained in v1beta1.
type UnitedDeploymentSpec struct {
	Replicas             *int32
	Selector             *metav1.LabelSelector
	Template             SubsetTemplate
	Topology             Topology
	UpdateStrategy       UnitedDeploymentUpdateStrategy
	RevisionHistoryLimit *int32
}

// SubsetTemplate is the workload of each subset: one of the four.
type SubsetTemplate struct {
	StatefulSetTemplate         *StatefulSetTemplateSpec
	AdvancedStatefulSetTemplate *AdvancedStatefulSetTemplateSpec
	CloneSetTemplate            *CloneSetTemplateSpec
	DeploymentTemplate          *DeploymentTemplateSpec
}

// StatefulSetTemplateSpec is a StatefulSet of apps/v1.
type StatefulSetTemplateSpec struct {
	metav1.ObjectMeta
	Spec appsv1.StatefulSetSpec
}

// AdvancedStatefulSetTemplateSpec is a StatefulSet of this group.
type AdvancedStatefulSetTemplateSpec struct {
	metav1.ObjectMeta
	Spec StatefulSetSpec
}

// CloneSetTemplateSpec is a CloneSet.
type CloneSetTemplateSpec struct {
	metav1.ObjectMeta
	Spec CloneSetSpec
}

// DeploymentTemplateSpec is a Deployment.
type DeploymentTemplateSpec struct {
	metav1.ObjectMeta
	Spec appsv1.DeploymentSpec
}

// Topology is the subsets and how Pods are given to them.
type Topology struct {
	Subsets          []Subset
	ScheduleStrategy UnitedDeploymentScheduleStrategy
}

// Subset is a part of the nodes and its share of the Pods.
type Subset struct {
	Name             string
	NodeSelectorTerm corev1.NodeSelectorTerm
	Tolerations      []corev1.Toleration
	Replicas         *intstr.IntOrString
	MinReplicas      *intstr.IntOrString
	MaxReplicas      *intstr.IntOrString
	Patch            *runtime.RawExtension
}

// UnitedDeploymentScheduleStrategy defines how Pods are distributed to subsets.
type UnitedDeploymentScheduleStrategy struct {
	Type     UnitedDeploymentScheduleStrategyType
	Adaptive *AdaptiveUnitedDeploymentStrategy
}

// AdaptiveUnitedDeploymentStrategy contains the settings of type Adaptive.
type AdaptiveUnitedDeploymentStrategy struct {
	RescheduleCriticalSeconds *int32
	UnschedulableDuration     *int32
	ReserveUnschedulablePods  bool
}

// UnitedDeploymentUpdateStrategy defines how subsets are updated to a new revision.
type UnitedDeploymentUpdateStrategy struct {
	Type         UpdateStrategyType
	ManualUpdate *ManualUpdate
}

// ManualUpdate contains the settings of type Manual.
type ManualUpdate struct {
	Partitions map[string]int32
}

// UnitedDeploymentStatus is the observed state.
type UnitedDeploymentStatus struct {
	ObservedGeneration   int64
	Replicas             int32
	ReadyReplicas        int32
	UpdatedReplicas      int32
	UpdatedReadyReplicas int32
	ReservedPods         int32
	CollisionCount       *int32
	CurrentRevision      string
	UpdatedRevision      string
	SubsetStatuses       []UnitedDeploymentSubsetStatus
	Conditions           []UnitedDeploymentCondition
	LabelSelector        string
}

// UnitedDeploymentCondition is one observation about a UnitedDeployment.
type UnitedDeploymentCondition struct {
	Type               UnitedDeploymentConditionType
	Status             corev1.ConditionStatus
	LastTransitionTime metav1.Time
	Reason             string
	Message            string
}

// UnitedDeploymentSubsetStatus is what the controller observed of a subset.
type UnitedDeploymentSubsetStatus struct {
	Name          string
	Replicas      int32
	ReadyReplicas int32
	Partition     int32
	ReservedPods  int32
	Conditions    []UnitedDeploymentSubsetCondition
}

// UnitedDeploymentSubsetCondition is one observation about a subset.
type UnitedDeploymentSubsetCondition struct {
	Type               UnitedDeploymentSubsetConditionType
	Status             corev1.ConditionStatus
	LastTransitionTime metav1.Time
	Reason             string
	Message            string
}
