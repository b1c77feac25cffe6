package v1beta1

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// WorkloadSpreadScheduleStrategyType says what becomes of Pods that cannot be scheduled.
// +enum
//
// The empty value stands for Fixed.
type WorkloadSpreadScheduleStrategyType string

const (
	// FixedWorkloadSpreadScheduleStrategyType leaves Pods in their subset.
	FixedWorkloadSpreadScheduleStrategyType WorkloadSpreadScheduleStrategyType = "Fixed"
	// AdaptiveWorkloadSpreadScheduleStrategyType moves Pods on to the next subset.
	AdaptiveWorkloadSpreadScheduleStrategyType WorkloadSpreadScheduleStrategyType = "Adaptive"
)

// WorkloadSpreadSubsetConditionType is the type of a condition of a subset.
type WorkloadSpreadSubsetConditionType string

// SubsetSchedulable says whether the subset's nodes take Pods.
const SubsetSchedulable WorkloadSpreadSubsetConditionType = "Schedulable"

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WorkloadSpread spreads the Pods of a workload over subsets of nodes, without a change to the
// workload: each new Pod goes to the first subset that has room. It takes the subset's node
// selection, tolerations and patch. Pods of the last subsets are the first to go when the
// workload shrinks.
type WorkloadSpread struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says which workload is spread, and over which subsets.
	// +optional
	Spec WorkloadSpreadSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller observed last. It may lag behind.
	// +optional
	Status WorkloadSpreadStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WorkloadSpreadList is a list of WorkloadSpreads.
type WorkloadSpreadList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of WorkloadSpreads.
	Items []WorkloadSpread `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// WorkloadSpreadSpec says which workload is spread, and over which subsets.
type WorkloadSpreadSpec struct {
	// targetRef is the workload: a Deployment, ReplicaSet, StatefulSet or Job, a CloneSet or
	// Advanced StatefulSet, or a kind that the administrator allows. It cannot be changed, but
	// for the version. A workload has one WorkloadSpread.
	TargetRef *TargetReference `json:"targetRef" protobuf:"bytes,1,opt,name=targetRef"`

	// targetFilter spreads only a part of the workload's Pods.
	// +optional
	TargetFilter *TargetFilter `json:"targetFilter,omitempty" protobuf:"bytes,2,opt,name=targetFilter"`

	// subsets are where Pods go, the first one first. At least one.
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Subsets []WorkloadSpreadSubset `json:"subsets" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,3,rep,name=subsets"`

	// scheduleStrategy says what becomes of Pods that cannot be scheduled.
	// +optional
	ScheduleStrategy WorkloadSpreadScheduleStrategy `json:"scheduleStrategy,omitempty" protobuf:"bytes,4,opt,name=scheduleStrategy"`
}

// TargetFilter picks a part of a workload's Pods.
type TargetFilter struct {
	// selector picks the Pods by their labels.
	// Unset picks all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,1,opt,name=selector"`

	// replicasPathList are the fields of the workload that say how many such Pods there are,
	// like spec.replicas or spec.parts.0.replicas. Percentages are of their sum.
	// +optional
	// +listType=atomic
	ReplicasPathList []string `json:"replicasPathList,omitempty" protobuf:"bytes,2,rep,name=replicasPathList"`
}

// WorkloadSpreadScheduleStrategy says what becomes of Pods that cannot be scheduled.
type WorkloadSpreadScheduleStrategy struct {
	// type is Fixed or Adaptive. Fixed leaves Pods in their subset. Adaptive moves Pods that
	// cannot be scheduled on to the next subset.
	// Unset means Fixed.
	// +optional
	Type WorkloadSpreadScheduleStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=WorkloadSpreadScheduleStrategyType"`

	// adaptive is the settings of type Adaptive.
	// +optional
	Adaptive *AdaptiveWorkloadSpreadStrategy `json:"adaptive,omitempty" protobuf:"bytes,2,opt,name=adaptive"`
}

// AdaptiveWorkloadSpreadStrategy is the settings of type Adaptive.
type AdaptiveWorkloadSpreadStrategy struct {
	// disableSimulationSchedule is accepted and has no effect.
	// +optional
	DisableSimulationSchedule bool `json:"disableSimulationSchedule,omitempty" protobuf:"varint,1,opt,name=disableSimulationSchedule"`

	// rescheduleCriticalSeconds is how long a Pod may stay unscheduled before it is deleted,
	// for the workload to create it again in the next subset. The subset is tried again after
	// five minutes, so with several subsets the waits of all must fit in: at most 295 divided
	// by the number of subsets less one.
	// Unset, or 0, moves no Pods.
	// +optional
	RescheduleCriticalSeconds *int32 `json:"rescheduleCriticalSeconds,omitempty" protobuf:"varint,2,opt,name=rescheduleCriticalSeconds"`
}

// WorkloadSpreadSubset is where Pods go.
type WorkloadSpreadSubset struct {
	// name is the subset's name, unique in the list.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// requiredNodeSelector is added to each term of the Pod's required node affinity, and so
	// picks the subset's nodes.
	// +optional
	RequiredNodeSelector *corev1.NodeSelectorTerm `json:"requiredNodeSelector,omitempty" protobuf:"bytes,2,opt,name=requiredNodeSelector"`

	// preferredNodeSelector is added to the Pod's preferred node affinity.
	// +optional
	// +patchStrategy=merge
	// +listType=atomic
	PreferredNodeSelector []corev1.PreferredSchedulingTerm `json:"preferredNodeSelector,omitempty" patchStrategy:"merge" protobuf:"bytes,3,rep,name=preferredNodeSelector"`

	// tolerations are added to the Pod's.
	// +optional
	// +patchStrategy=merge
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty" patchStrategy:"merge" protobuf:"bytes,4,rep,name=tolerations"`

	// maxReplicas is how many Pods the subset takes. A number, or a percentage of the
	// workload's replicas, rounded up, like "30%"; numbers and percentages cannot be mixed.
	// The percentages of all subsets are at most 100%, and exactly 100% when the last subset
	// has one too. Where the sum is less than the workload's replicas and the last subset has
	// a limit, the Pods beyond it belong to no subset.
	// Unset means no limit.
	// +optional
	MaxReplicas *intstr.IntOrString `json:"maxReplicas,omitempty" protobuf:"bytes,5,opt,name=maxReplicas"`

	// patch is merged into the Pod as a strategic merge patch. It says what a Pod of this
	// subset has otherwise: labels, annotations, environment variables.
	// +optional
	// +patchStrategy=replace
	Patch *runtime.RawExtension `json:"patch,omitempty" patchStrategy:"replace" protobuf:"bytes,6,opt,name=patch"`
}

// WorkloadSpreadStatus is what the controller observed.
type WorkloadSpreadStatus struct {
	// observedGeneration is the generation of the WorkloadSpread that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// subsetStatuses are the subsets, in the order of the spec.
	// +optional
	// +listType=atomic
	SubsetStatuses []WorkloadSpreadSubsetStatus `json:"subsetStatuses,omitempty" protobuf:"bytes,2,rep,name=subsetStatuses"`

	// versionedSubsetStatuses are the subsets as the Pods of each revision of the workload
	// fill them, by the revision's hash.
	// +optional
	VersionedSubsetStatuses map[string]WorkloadSpreadSubsetStatuses `json:"versionedSubsetStatuses,omitempty" protobuf:"bytes,3,rep,name=versionedSubsetStatuses"`
}

// WorkloadSpreadSubsetStatuses are the statuses of all subsets, in the order of the spec.
// +protobuf.nullable=true
// +protobuf.options.(gogoproto.goproto_stringer)=false
type WorkloadSpreadSubsetStatuses []WorkloadSpreadSubsetStatus

// String is for logs.
func (s WorkloadSpreadSubsetStatuses) String() string {
	return fmt.Sprintf("%v", []WorkloadSpreadSubsetStatus(s))
}

// WorkloadSpreadSubsetStatus is what the controller observed of a subset.
type WorkloadSpreadSubsetStatus struct {
	// name is the subset's name.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// conditions are the latest observations: Schedulable.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []WorkloadSpreadSubsetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,2,rep,name=conditions"`

	// replicas is how many Pods the subset has.
	Replicas int32 `json:"replicas" protobuf:"varint,3,opt,name=replicas"`

	// missingReplicas is how many more the subset takes. -1 says that there is no limit.
	MissingReplicas int32 `json:"missingReplicas" protobuf:"varint,4,opt,name=missingReplicas"`

	// creatingPods are Pods that were let in and are not seen yet, with the time: by name, or
	// by an identifier where the name is not known yet.
	// +optional
	CreatingPods map[string]metav1.Time `json:"creatingPods,omitempty" protobuf:"bytes,5,rep,name=creatingPods"`

	// deletingPods are Pods that are about to go, with the time.
	// +optional
	DeletingPods map[string]metav1.Time `json:"deletingPods,omitempty" protobuf:"bytes,6,rep,name=deletingPods"`
}

// WorkloadSpreadSubsetCondition is one observation about a subset.
type WorkloadSpreadSubsetCondition struct {
	// type is Schedulable.
	Type WorkloadSpreadSubsetConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=WorkloadSpreadSubsetConditionType"`

	// status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/api/core/v1.ConditionStatus"`

	// lastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`

	// reason is a word for machines that says why.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`

	// message is a sentence for people that says why.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}
