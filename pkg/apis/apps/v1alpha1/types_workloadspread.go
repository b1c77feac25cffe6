package v1alpha1

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// WorkloadSpreadScheduleStrategyType defines what happens to Pods that cannot be scheduled.
// +enum
//
// The empty value means Fixed.
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

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WorkloadSpread spreads the Pods of a workload over subsets of nodes, without a change to the
// workload: each new Pod goes to the first subset that has room. It takes the subset's node
// selection, tolerations and patch. Scaling in deletes the Pods of the last subsets first.
type WorkloadSpread struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the workload and the subsets that its Pods are spread over.
	// +optional
	Spec WorkloadSpreadSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
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

// WorkloadSpreadSpec defines which workload is spread, and over which subsets.
type WorkloadSpreadSpec struct {
	// targetRef is the workload: a Deployment, ReplicaSet, StatefulSet or Job, a CloneSet or
	// Advanced StatefulSet, or a kind that the administrator allows. Only its version can be
	// changed. A workload can have one WorkloadSpread.
	TargetRef *TargetReference `json:"targetRef" protobuf:"bytes,1,opt,name=targetRef"`

	// targetFilter limits the spread to some Pods of the workload.
	// +optional
	TargetFilter *TargetFilter `json:"targetFilter,omitempty" protobuf:"bytes,2,opt,name=targetFilter"`

	// subsets are the subsets that Pods are assigned to, in this order. At least one is
	// required.
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Subsets []WorkloadSpreadSubset `json:"subsets" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,3,rep,name=subsets"`

	// scheduleStrategy defines what happens to Pods that cannot be scheduled.
	// +optional
	ScheduleStrategy WorkloadSpreadScheduleStrategy `json:"scheduleStrategy,omitempty" protobuf:"bytes,4,opt,name=scheduleStrategy"`
}

// TargetFilter picks a part of a workload's Pods.
type TargetFilter struct {
	// selector selects the Pods by their labels. If unset, all Pods are selected.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,1,opt,name=selector"`

	// replicasPathList is the list of fields of the workload that contain the number of
	// these Pods, such as spec.replicas or spec.parts.0.replicas. Percentages are calculated
	// from their sum.
	// +optional
	// +listType=atomic
	ReplicasPathList []string `json:"replicasPathList,omitempty" protobuf:"bytes,2,rep,name=replicasPathList"`
}

// WorkloadSpreadScheduleStrategy defines what happens to Pods that cannot be scheduled.
type WorkloadSpreadScheduleStrategy struct {
	// type is Fixed or Adaptive. Fixed keeps Pods in their subset. Adaptive moves Pods that
	// cannot be scheduled to the next subset. If unset, the value is Fixed.
	// +optional
	Type WorkloadSpreadScheduleStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=WorkloadSpreadScheduleStrategyType"`

	// adaptive contains the settings of type Adaptive.
	// +optional
	Adaptive *AdaptiveWorkloadSpreadStrategy `json:"adaptive,omitempty" protobuf:"bytes,2,opt,name=adaptive"`
}

// AdaptiveWorkloadSpreadStrategy contains the settings of type Adaptive.
type AdaptiveWorkloadSpreadStrategy struct {
	// disableSimulationSchedule is accepted and has no effect.
	// +optional
	DisableSimulationSchedule bool `json:"disableSimulationSchedule,omitempty" protobuf:"varint,1,opt,name=disableSimulationSchedule"`

	// rescheduleCriticalSeconds is the number of seconds that a Pod can stay unscheduled.
	// Then the Pod is deleted, and the workload creates it again in the next subset. A
	// subset is tried again after five minutes. With several subsets, the maximum is 295
	// divided by the number of subsets minus one. If unset or 0, no Pods are moved.
	// +optional
	RescheduleCriticalSeconds *int32 `json:"rescheduleCriticalSeconds,omitempty" protobuf:"varint,2,opt,name=rescheduleCriticalSeconds"`
}

// WorkloadSpreadSubset is where Pods go.
type WorkloadSpreadSubset struct {
	// name is the subset's name, unique in the list.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// requiredNodeSelectorTerm is added to each term of the Pod's required node affinity. It
	// selects the nodes of the subset.
	// +optional
	RequiredNodeSelectorTerm *corev1.NodeSelectorTerm `json:"requiredNodeSelectorTerm,omitempty" protobuf:"bytes,2,opt,name=requiredNodeSelectorTerm"`

	// preferredNodeSelectorTerms are added to the Pod's preferred node affinity.
	// +optional
	// +listType=atomic
	PreferredNodeSelectorTerms []corev1.PreferredSchedulingTerm `json:"preferredNodeSelectorTerms,omitempty" protobuf:"bytes,3,rep,name=preferredNodeSelectorTerms"`

	// tolerations are added to the tolerations of the Pod.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty" protobuf:"bytes,4,rep,name=tolerations"`

	// maxReplicas is the maximum number of Pods in the subset. It is a number, or a
	// percentage of the workload's replicas such as "30%", rounded up. Numbers and
	// percentages cannot be mixed. The sum of the percentages is at most 100%, and exactly
	// 100% if the last subset has one. If the last subset has a limit and the sum is less
	// than the workload's replicas, the remaining Pods belong to no subset. If unset, there
	// is no limit.
	// +optional
	MaxReplicas *intstr.IntOrString `json:"maxReplicas,omitempty" protobuf:"bytes,5,opt,name=maxReplicas"`

	// patch is a strategic merge patch for the Pods of this subset. It can change labels,
	// annotations and environment variables.
	// +optional
	// +patchStrategy=replace
	Patch *runtime.RawExtension `json:"patch,omitempty" patchStrategy:"replace" protobuf:"bytes,6,opt,name=patch"`
}

// WorkloadSpreadStatus is the observed state.
type WorkloadSpreadStatus struct {
	// observedGeneration is the generation of the WorkloadSpread that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// subsetStatuses are the states of the subsets, in the order of the spec.
	// +optional
	// +listType=atomic
	SubsetStatuses []WorkloadSpreadSubsetStatus `json:"subsetStatuses,omitempty" protobuf:"bytes,2,rep,name=subsetStatuses"`

	// versionedSubsetStatuses maps the hash of each revision of the workload to the states
	// of the subsets for that revision.
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

	// conditions are the latest observed conditions. The only type is Schedulable.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []WorkloadSpreadSubsetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,2,rep,name=conditions"`

	// replicas is the number of Pods in the subset.
	Replicas int32 `json:"replicas" protobuf:"varint,3,opt,name=replicas"`

	// missingReplicas is the number of Pods that still fit into the subset. -1 means no
	// limit.
	MissingReplicas int32 `json:"missingReplicas" protobuf:"varint,4,opt,name=missingReplicas"`

	// creatingPods maps Pods that were admitted but are not observed yet to the time of
	// admission. The key is the name, or an identifier if the name is not known yet.
	// +optional
	CreatingPods map[string]metav1.Time `json:"creatingPods,omitempty" protobuf:"bytes,5,rep,name=creatingPods"`

	// deletingPods maps Pods that are about to be deleted to the time of the request.
	// +optional
	DeletingPods map[string]metav1.Time `json:"deletingPods,omitempty" protobuf:"bytes,6,rep,name=deletingPods"`
}

// WorkloadSpreadSubsetCondition is one observation about a subset.
type WorkloadSpreadSubsetCondition struct {
	// type is Schedulable.
	Type WorkloadSpreadSubsetConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=WorkloadSpreadSubsetConditionType"`

	// status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/api/core/v1.ConditionStatus"`

	// lastTransitionTime is the last time that status changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`

	// reason is a machine-readable code for the cause.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`

	// message is a human-readable explanation.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}
