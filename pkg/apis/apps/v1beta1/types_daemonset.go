package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// DaemonSetUpdateStrategyType says what starts the update of a Pod.
// +enum
//
// The empty value stands for the default.
type DaemonSetUpdateStrategyType string

const (
	// RollingUpdateDaemonSetStrategyType updates Pods node by node.
	RollingUpdateDaemonSetStrategyType DaemonSetUpdateStrategyType = "RollingUpdate"
	// OnDeleteDaemonSetStrategyType updates a Pod only when somebody deletes it.
	OnDeleteDaemonSetStrategyType DaemonSetUpdateStrategyType = "OnDelete"
)

// RollingUpdateType says how a Pod comes to a new revision.
// +enum
//
// The empty value stands for the default.
type RollingUpdateType string

const (
	// StandardRollingUpdateType deletes the Pod and creates a new one.
	StandardRollingUpdateType RollingUpdateType = "Standard"
	// InplaceRollingUpdateType updates the Pod in place where the change allows it, and
	// recreates it otherwise.
	InplaceRollingUpdateType RollingUpdateType = "InPlaceIfPossible"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DaemonSet keeps one Pod on each node that fits. It does what a DaemonSet of apps/v1 does.
// Beyond that it updates Pods in place, updates only the nodes that you choose or only a part
// of them, pauses, and limits how fast it creates and deletes Pods.
type DaemonSet struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the DaemonSet.
	// +optional
	Spec DaemonSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller observed last. It may lag behind.
	// +optional
	Status DaemonSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DaemonSetList is a list of DaemonSets.
type DaemonSetList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of DaemonSets.
	Items []DaemonSet `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// DaemonSetSpec is the desired state of a DaemonSet.
type DaemonSetSpec struct {
	// selector selects the Pods of the DaemonSet by their labels. It must match the labels of
	// the template, must not be empty, and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,1,opt,name=selector"`

	// template is the Pod that the DaemonSet creates on each node that fits: one that the
	// template's nodeSelector and node affinity select, and whose taints it tolerates.
	// restartPolicy must be Always, and activeDeadlineSeconds must not be set.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,2,opt,name=template"`

	// updateStrategy says how Pods come to a new revision of the template.
	// +optional
	UpdateStrategy DaemonSetUpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,3,opt,name=updateStrategy"`

	// minReadySeconds is how long a Pod must have been ready to count as available.
	// Defaults to 0: a Pod is available as soon as it is ready.
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,4,opt,name=minReadySeconds"`

	// burstReplicas is how many Pods are created at once, and how many are deleted at once. A
	// number, or a percentage of the nodes that fit, like "10%", rounded down.
	// Defaults to 250.
	// +optional
	BurstReplicas *intstr.IntOrString `json:"burstReplicas,omitempty" protobuf:"bytes,5,opt,name=burstReplicas"`

	// revisionHistoryLimit is how many old revisions are kept, beside those that Pods use.
	// Defaults to 10.
	// +optional
	// +default=10
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,6,opt,name=revisionHistoryLimit"`

	// lifecycle holds Pods before they are deleted, until you release them. Only preDelete has
	// an effect. inPlaceUpdate must not be set.
	// +optional
	Lifecycle *pub.Lifecycle `json:"lifecycle,omitempty" protobuf:"bytes,7,opt,name=lifecycle"`

	// scaleStrategy says how Pods are created.
	// +optional
	ScaleStrategy DaemonSetScaleStrategy `json:"scaleStrategy,omitempty" protobuf:"bytes,8,opt,name=scaleStrategy"`
}

// DaemonSetScaleStrategy says how Pods are created.
type DaemonSetScaleStrategy struct {
	// partitionedScaling lets partition hold back the creation of Pods too: partition nodes get
	// none. Like partition it has an effect with type RollingUpdate alone.
	// Defaults to false.
	// +optional
	PartitionedScaling bool `json:"partitionedScaling,omitempty" protobuf:"varint,1,opt,name=partitionedScaling"`
}

// DaemonSetUpdateStrategy says how Pods come to a new revision.
type DaemonSetUpdateStrategy struct {
	// type is RollingUpdate or OnDelete. RollingUpdate updates Pods node by node. OnDelete
	// waits until you delete a Pod.
	// Defaults to RollingUpdate.
	// +optional
	// +default="RollingUpdate"
	Type DaemonSetUpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=DaemonSetUpdateStrategyType"`

	// rollingUpdate is the settings of a rolling update.
	// +optional
	RollingUpdate *RollingUpdateDaemonSet `json:"rollingUpdate,omitempty" protobuf:"bytes,2,opt,name=rollingUpdate"`
}

// RollingUpdateDaemonSet is the settings of a rolling update. Nodes are updated in descending
// order of their names.
type RollingUpdateDaemonSet struct {
	// rollingUpdateType is Standard or InPlaceIfPossible. Standard deletes a Pod and creates a
	// new one. InPlaceIfPossible keeps the Pod and changes its containers where the change
	// allows it, and recreates it otherwise. It needs maxSurge 0.
	// Defaults to Standard.
	// +optional
	// +default="Standard"
	RollingUpdateType RollingUpdateType `json:"rollingUpdateType,omitempty" protobuf:"bytes,1,opt,name=rollingUpdateType,casttype=RollingUpdateType"`

	// maxUnavailable is on how many nodes the Pod may be unavailable during an update. A number,
	// or a percentage of the nodes that fit, rounded up, and no more than 100%. It must be 0 when
	// maxSurge is not.
	// Defaults to 1 when neither it nor maxSurge is set.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,2,opt,name=maxUnavailable"`

	// maxSurge is on how many nodes the new Pod may run beside the old one during an update. A
	// number, or a percentage of the nodes that fit, rounded up, and no more than 100%. It must
	// be 0 when maxUnavailable is not.
	// Defaults to 0.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty" protobuf:"bytes,3,opt,name=maxSurge"`

	// selector selects nodes by their labels: the update reaches no others. Beside it,
	// partition still counts all nodes.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,4,opt,name=selector"`

	// partition is on how many nodes the old Pod stays. A number, or a percentage of the nodes
	// that fit, rounded down, and no more than 100%.
	// Unset means 0.
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty" protobuf:"bytes,5,opt,name=partition"`

	// paused stops updates. Pods on new nodes are still created.
	// Defaults to false.
	// +optional
	// +default=false
	Paused *bool `json:"paused,omitempty" protobuf:"varint,6,opt,name=paused"`
}

// DaemonSetStatus is what the controller observed.
type DaemonSetStatus struct {
	// currentNumberScheduled is how many nodes that fit have a Pod.
	CurrentNumberScheduled int32 `json:"currentNumberScheduled" protobuf:"varint,1,opt,name=currentNumberScheduled"`

	// numberMisscheduled is how many nodes that do not fit have a Pod.
	NumberMisscheduled int32 `json:"numberMisscheduled" protobuf:"varint,2,opt,name=numberMisscheduled"`

	// desiredNumberScheduled is how many nodes fit.
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled" protobuf:"varint,3,opt,name=desiredNumberScheduled"`

	// numberReady is how many nodes that fit have a Pod that is ready.
	NumberReady int32 `json:"numberReady" protobuf:"varint,4,opt,name=numberReady"`

	// observedGeneration is the generation of the DaemonSet that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,5,opt,name=observedGeneration"`

	// updatedNumberScheduled is how many nodes that fit have a Pod at the newest revision.
	UpdatedNumberScheduled int32 `json:"updatedNumberScheduled" protobuf:"varint,6,opt,name=updatedNumberScheduled"`

	// numberAvailable is how many nodes that fit have a Pod that has been ready for
	// minReadySeconds.
	// +optional
	NumberAvailable int32 `json:"numberAvailable,omitempty" protobuf:"varint,7,opt,name=numberAvailable"`

	// numberUnavailable is how many nodes that fit have no such Pod.
	// +optional
	NumberUnavailable int32 `json:"numberUnavailable,omitempty" protobuf:"varint,8,opt,name=numberUnavailable"`

	// collisionCount counts collisions of revision names. The controller uses it to find
	// a free name.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,9,opt,name=collisionCount"`

	// conditions are the latest observations.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []appsv1.DaemonSetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,10,rep,name=conditions"`

	// updateRevision is the short hash of the newest revision, as Pods have it in their label
	// controller-revision-hash.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty" protobuf:"bytes,11,opt,name=updateRevision"`
}
