package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UpdateStrategyType defines how a UnitedDeployment is updated.
// +enum
//
// The empty value means the default.
type UpdateStrategyType string

const (
	// ManualUpdateStrategyType updates each subset down to its partition.
	ManualUpdateStrategyType UpdateStrategyType = "Manual"
)

// UnitedDeploymentScheduleStrategyType defines how Pods are distributed to subsets.
// +enum
//
// The empty value means the default.
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

// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=ApplyScale,verb=apply,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// UnitedDeployment runs one workload for each subset of nodes, such as a zone, from one
// template. It divides the replicas among the subsets, and each can be updated by itself.
type UnitedDeployment struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the UnitedDeployment.
	// +optional
	Spec UnitedDeploymentSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
	// +optional
	Status UnitedDeploymentStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// UnitedDeploymentList is a list of UnitedDeployments.
type UnitedDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of UnitedDeployments.
	Items []UnitedDeployment `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// UnitedDeploymentSpec is the desired state of a UnitedDeployment.
type UnitedDeploymentSpec struct {
	// replicas is the total number of Pods in all subsets. Zero is allowed. If each subset
	// has a number of replicas, the field can be unset, and the total is their sum.
	// Otherwise it defaults to 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`

	// selector selects the workloads of the subsets and their Pods. It must match the labels
	// of the template and of its Pod template, must not be empty, and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,2,opt,name=selector"`

	// template is the workload of each subset.
	// +optional
	Template SubsetTemplate `json:"template,omitempty" protobuf:"bytes,3,opt,name=template"`

	// topology defines the subsets and how Pods are distributed to them.
	// +optional
	Topology Topology `json:"topology,omitempty" protobuf:"bytes,4,opt,name=topology"`

	// updateStrategy defines how subsets are updated to a new revision of the template.
	// +optional
	UpdateStrategy UnitedDeploymentUpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,5,opt,name=updateStrategy"`

	// revisionHistoryLimit is the number of old revisions to keep, in addition to the
	// revisions that subsets use.
	// Defaults to 10.
	// +optional
	// +default=10
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,6,opt,name=revisionHistoryLimit"`
}

// SubsetTemplate is the workload of each subset. Exactly one of the templates is set. When
// another one takes its place, the workloads of the old kind are deleted.
type SubsetTemplate struct {
	// statefulSetTemplate makes each subset a StatefulSet of apps/v1.
	// +optional
	StatefulSetTemplate *StatefulSetTemplateSpec `json:"statefulSetTemplate,omitempty" protobuf:"bytes,1,opt,name=statefulSetTemplate"`

	// advancedStatefulSetTemplate makes each subset a StatefulSet of apps.kruise.io.
	// +optional
	AdvancedStatefulSetTemplate *AdvancedStatefulSetTemplateSpec `json:"advancedStatefulSetTemplate,omitempty" protobuf:"bytes,2,opt,name=advancedStatefulSetTemplate"`

	// cloneSetTemplate makes each subset a CloneSet.
	// +optional
	CloneSetTemplate *CloneSetTemplateSpec `json:"cloneSetTemplate,omitempty" protobuf:"bytes,3,opt,name=cloneSetTemplate"`

	// deploymentTemplate makes each subset a Deployment of apps/v1.
	// +optional
	DeploymentTemplate *DeploymentTemplateSpec `json:"deploymentTemplate,omitempty" protobuf:"bytes,4,opt,name=deploymentTemplate"`
}

// StatefulSetTemplateSpec is a StatefulSet of apps/v1.
type StatefulSetTemplateSpec struct {
	// metadata is the metadata of each StatefulSet. Only labels and annotations are used.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the spec of each StatefulSet. replicas and the partition of an update must not
	// be set: they come from topology and updateStrategy. selector has no effect.
	Spec appsv1.StatefulSetSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// AdvancedStatefulSetTemplateSpec is a StatefulSet of apps.kruise.io.
type AdvancedStatefulSetTemplateSpec struct {
	// metadata is the metadata of each StatefulSet. Only labels and annotations are used.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the spec of each StatefulSet, in the form of v1beta1. replicas and the
	// partition of an update must not be set: they come from topology and updateStrategy.
	// selector has no effect.
	Spec StatefulSetSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// CloneSetTemplateSpec is a CloneSet.
type CloneSetTemplateSpec struct {
	// metadata is the metadata of each CloneSet. Only labels and annotations are used.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the spec of each CloneSet, in the form of v1beta1. replicas, the partition of
	// an update and selector have no effect: they come from topology, updateStrategy and the
	// UnitedDeployment.
	Spec CloneSetSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// DeploymentTemplateSpec is a Deployment.
type DeploymentTemplateSpec struct {
	// metadata is the metadata of each Deployment. Only labels and annotations are used.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the spec of each Deployment. replicas must not be set: it comes from topology.
	// selector has no effect. A Deployment does not support partition: an update applies to
	// all its Pods.
	Spec appsv1.DeploymentSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// Topology is the subsets and how Pods are given to them.
type Topology struct {
	// subsets are the groups of nodes. When you remove a subset, its workload is deleted.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Subsets []Subset `json:"subsets,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,1,rep,name=subsets"`

	// scheduleStrategy defines how Pods are distributed to subsets.
	// +optional
	ScheduleStrategy UnitedDeploymentScheduleStrategy `json:"scheduleStrategy,omitempty" protobuf:"bytes,2,opt,name=scheduleStrategy"`
}

// Subset is a part of the nodes and its share of the Pods.
type Subset struct {
	// name is the unique name of the subset. It must be a DNS label. It is part of the names
	// of the workload and its Pods.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// nodeSelectorTerm selects the nodes of the subset. It is added to each term of the Pod
	// template's required node affinity, and cannot be changed.
	// +optional
	NodeSelectorTerm corev1.NodeSelectorTerm `json:"nodeSelectorTerm,omitempty" protobuf:"bytes,2,opt,name=nodeSelectorTerm"`

	// tolerations are added to those of the Pod template. They cannot be changed.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty" protobuf:"bytes,3,rep,name=tolerations"`

	// replicas is the number of Pods of the subset. It is a number, or a percentage of all
	// replicas from "0%" to "100%", rounded to the nearest integer. Subsets without it share
	// the remaining replicas evenly. If all subsets have it, their sum must equal the total.
	// +optional
	Replicas *intstr.IntOrString `json:"replicas,omitempty" protobuf:"bytes,4,opt,name=replicas"`

	// minReplicas is the number of Pods that the subset gets before any subset gets more
	// than its minReplicas. It is a number, or a percentage of all replicas. It cannot be
	// used if any subset has replicas.
	// Defaults to 0.
	// +optional
	MinReplicas *intstr.IntOrString `json:"minReplicas,omitempty" protobuf:"bytes,5,opt,name=minReplicas"`

	// maxReplicas is the maximum number of Pods of the subset. It is a number, or a
	// percentage of all replicas. It cannot be used if any subset has replicas. At least one
	// subset must not set it. If unset, there is no limit.
	// +optional
	MaxReplicas *intstr.IntOrString `json:"maxReplicas,omitempty" protobuf:"bytes,6,opt,name=maxReplicas"`

	// patch changes the Pod template of the subset. It is a strategic merge patch, written
	// as an object such as {"metadata":{"labels":{"zone":"a"}}}.
	// +optional
	// +patchStrategy=replace
	Patch *runtime.RawExtension `json:"patch,omitempty" patchStrategy:"replace" protobuf:"bytes,7,opt,name=patch"`
}

// UnitedDeploymentScheduleStrategy defines how Pods are distributed to subsets.
type UnitedDeploymentScheduleStrategy struct {
	// type is Fixed or Adaptive. Fixed gives each subset the replicas that topology defines.
	// Adaptive moves Pods that cannot be scheduled to other subsets.
	// Defaults to Fixed.
	// +optional
	// +default="Fixed"
	Type UnitedDeploymentScheduleStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=UnitedDeploymentScheduleStrategyType"`

	// adaptive contains the settings of type Adaptive.
	// +optional
	Adaptive *AdaptiveUnitedDeploymentStrategy `json:"adaptive,omitempty" protobuf:"bytes,2,opt,name=adaptive"`
}

// AdaptiveUnitedDeploymentStrategy contains the settings of type Adaptive.
type AdaptiveUnitedDeploymentStrategy struct {
	// rescheduleCriticalSeconds is the number of seconds that a Pod can stay unscheduled
	// before its subset counts as unschedulable.
	// Defaults to 30.
	// +optional
	// +default=30
	RescheduleCriticalSeconds *int32 `json:"rescheduleCriticalSeconds,omitempty" protobuf:"varint,1,opt,name=rescheduleCriticalSeconds"`

	// unschedulableDuration is the number of seconds that an unschedulable subset gets no
	// new Pods.
	// Defaults to 300.
	// +optional
	// +default=300
	UnschedulableDuration *int32 `json:"unschedulableDuration,omitempty" protobuf:"varint,2,opt,name=unschedulableDuration"`

	// reserveUnschedulablePods keeps Pods that cannot be scheduled in addition to their
	// substitutes in other subsets, so that they can start later. It requires
	// cloneSetTemplate or deploymentTemplate.
	// Defaults to false.
	// +optional
	ReserveUnschedulablePods bool `json:"reserveUnschedulablePods,omitempty" protobuf:"varint,3,opt,name=reserveUnschedulablePods"`
}

// UnitedDeploymentUpdateStrategy defines how subsets are updated to a new revision.
type UnitedDeploymentUpdateStrategy struct {
	// type is Manual. Each subset is updated down to its partition.
	// Defaults to Manual.
	// +optional
	// +default="Manual"
	Type UpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=UpdateStrategyType"`

	// manualUpdate contains the settings of type Manual.
	// +optional
	ManualUpdate *ManualUpdate `json:"manualUpdate,omitempty" protobuf:"bytes,2,opt,name=manualUpdate"`
}

// ManualUpdate contains the settings of type Manual.
type ManualUpdate struct {
	// partitions maps the name of a subset to the number of its Pods that stay at the old
	// revision. All Pods of a subset that is not listed are updated.
	// +optional
	Partitions map[string]int32 `json:"partitions,omitempty" protobuf:"bytes,1,rep,name=partitions"`
}

// UnitedDeploymentStatus is the observed state.
type UnitedDeploymentStatus struct {
	// observedGeneration is the generation of the UnitedDeployment that this status
	// describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// replicas is the number of Pods in all subsets, without reserved Pods.
	Replicas int32 `json:"replicas" protobuf:"varint,2,opt,name=replicas"`

	// readyReplicas is the number of ready Pods.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,3,opt,name=readyReplicas"`

	// updatedReplicas is the number of Pods at the update revision.
	UpdatedReplicas int32 `json:"updatedReplicas" protobuf:"varint,4,opt,name=updatedReplicas"`

	// updatedReadyReplicas is the number of ready Pods at the update revision.
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas" protobuf:"varint,5,opt,name=updatedReadyReplicas"`

	// reservedPods is the number of unschedulable Pods that are kept.
	// +optional
	ReservedPods int32 `json:"reservedPods,omitempty" protobuf:"varint,6,opt,name=reservedPods"`

	// collisionCount is the number of collisions of revision names. The controller uses it
	// to create a unique name.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,7,opt,name=collisionCount"`

	// currentRevision is the name of the last revision to which all Pods were updated.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty" protobuf:"bytes,8,opt,name=currentRevision"`

	// updatedRevision is the name of the revision of the current template.
	// +optional
	UpdatedRevision string `json:"updatedRevision,omitempty" protobuf:"bytes,14,opt,name=updatedRevision"`

	// subsetStatuses are the observed states of the subsets.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	SubsetStatuses []UnitedDeploymentSubsetStatus `json:"subsetStatuses,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,10,rep,name=subsetStatuses"`

	// conditions are the latest observed conditions. Their types are SubsetProvisioned,
	// SubsetUpdated, SubsetFailure, UnitedDeploymentUpdated and Reconciling. Reconciling is True
	// while the workloads do not match the spec.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []UnitedDeploymentCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,11,rep,name=conditions"`

	// labelSelector is the selector in string form, for autoscalers.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty" protobuf:"bytes,13,opt,name=labelSelector"`
}

// UnitedDeploymentCondition is one observation about a UnitedDeployment.
type UnitedDeploymentCondition struct {
	// type is SubsetProvisioned, SubsetUpdated, SubsetFailure, UnitedDeploymentUpdated or
	// Reconciling.
	Type UnitedDeploymentConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=UnitedDeploymentConditionType"`

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

// UnitedDeploymentSubsetStatus is what the controller observed of a subset.
type UnitedDeploymentSubsetStatus struct {
	// name is the name of the subset.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// replicas is the desired number of Pods of the subset.
	Replicas int32 `json:"replicas" protobuf:"varint,2,opt,name=replicas"`

	// readyReplicas is the number of ready Pods.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,3,opt,name=readyReplicas"`

	// partition is the number of Pods of the subset that stay at the old revision.
	Partition int32 `json:"partition" protobuf:"varint,4,opt,name=partition"`

	// reservedPods is the number of unschedulable Pods that are kept in addition.
	// +optional
	ReservedPods int32 `json:"reservedPods,omitempty" protobuf:"varint,5,opt,name=reservedPods"`

	// conditions are the latest observed conditions. The only type is Schedulable.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []UnitedDeploymentSubsetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

// UnitedDeploymentSubsetCondition is one observation about a subset.
type UnitedDeploymentSubsetCondition struct {
	// type is Schedulable.
	Type UnitedDeploymentSubsetConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=UnitedDeploymentSubsetConditionType"`

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
