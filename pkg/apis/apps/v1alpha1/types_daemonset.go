package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// DaemonSetUpdateStrategyType defines when Pods are updated.
// +enum
//
// The empty value means the default.
type DaemonSetUpdateStrategyType string

const (
	// RollingUpdateDaemonSetStrategyType updates Pods node by node.
	RollingUpdateDaemonSetStrategyType DaemonSetUpdateStrategyType = "RollingUpdate"
	// OnDeleteDaemonSetStrategyType updates a Pod only when you delete it.
	OnDeleteDaemonSetStrategyType DaemonSetUpdateStrategyType = "OnDelete"
)

// RollingUpdateType defines how a Pod is updated.
// +enum
//
// The empty value means the default.
type RollingUpdateType string

const (
	// StandardRollingUpdateType deletes the Pod and creates a new one.
	StandardRollingUpdateType RollingUpdateType = "Standard"
	// InplaceRollingUpdateType updates the Pod in place if the change allows it, and
	// recreates it otherwise.
	InplaceRollingUpdateType RollingUpdateType = "InPlaceIfPossible"
	// DeprecatedSurgingRollingUpdateType is what Standard with maxSurge is now. It is still
	// accepted, and becomes that.
	DeprecatedSurgingRollingUpdateType RollingUpdateType = "Surging"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DaemonSet runs one Pod on each eligible node. In addition to the features of a DaemonSet of apps/v1, it can update
// Pods in place, update only selected nodes or some of the nodes, pause an update, and limit how fast it creates and
// deletes Pods.
type DaemonSet struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the DaemonSet.
	// +optional
	Spec DaemonSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
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

	// template is the Pod that the DaemonSet creates on each eligible node. A node is
	// eligible if nodeSelector and node affinity select it and the Pod tolerates its taints.
	// restartPolicy must be Always, and activeDeadlineSeconds must not be set.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,2,opt,name=template"`

	// updateStrategy defines how Pods are updated to a new revision of the template.
	// +optional
	UpdateStrategy DaemonSetUpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,3,opt,name=updateStrategy"`

	// minReadySeconds is the number of seconds that a Pod must be ready before it counts as
	// available.
	// Defaults to 0: a Pod is available as soon as it is ready.
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,4,opt,name=minReadySeconds"`

	// burstReplicas is the maximum number of Pods that are created at a time, and of Pods
	// that are deleted at a time. It is a number, or a percentage of the eligible nodes such
	// as "10%", rounded down.
	// Defaults to 250.
	// +optional
	BurstReplicas *intstr.IntOrString `json:"burstReplicas,omitempty" protobuf:"bytes,5,opt,name=burstReplicas"`

	// revisionHistoryLimit is the number of old revisions to keep, in addition to the
	// revisions that Pods use.
	// Defaults to 10.
	// +optional
	// +default=10
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,6,opt,name=revisionHistoryLimit"`

	// lifecycle defines a hook that holds Pods before deletion until you release them. Only
	// preDelete has an effect. inPlaceUpdate must not be set.
	// +optional
	Lifecycle *pub.Lifecycle `json:"lifecycle,omitempty" protobuf:"bytes,7,opt,name=lifecycle"`
}

// DaemonSetUpdateStrategy defines how Pods are updated to a new revision.
type DaemonSetUpdateStrategy struct {
	// type is RollingUpdate or OnDelete. RollingUpdate updates Pods node by node. OnDelete
	// updates a Pod only when you delete it.
	// Defaults to RollingUpdate.
	// +optional
	// +default="RollingUpdate"
	Type DaemonSetUpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=DaemonSetUpdateStrategyType"`

	// rollingUpdate contains the settings of a rolling update.
	// +optional
	RollingUpdate *RollingUpdateDaemonSet `json:"rollingUpdate,omitempty" protobuf:"bytes,2,opt,name=rollingUpdate"`
}

// RollingUpdateDaemonSet contains the settings of a rolling update. Nodes are updated in descending order of their
// names.
type RollingUpdateDaemonSet struct {
	// rollingUpdateType is Standard or InPlaceIfPossible. Standard deletes a Pod and creates
	// a new one. InPlaceIfPossible updates the containers of the Pod if the change allows
	// it, and recreates the Pod otherwise. It needs maxSurge 0. Surging is deprecated: it
	// becomes Standard with maxSurge 1 and maxUnavailable 0.
	// Defaults to Standard.
	// +optional
	// +default="Standard"
	RollingUpdateType RollingUpdateType `json:"rollingUpdateType,omitempty" protobuf:"bytes,1,opt,name=rollingUpdateType,casttype=RollingUpdateType"`

	// maxUnavailable is the maximum number of nodes on which the Pod is unavailable during
	// an update. It is a number, or a percentage of the eligible nodes of at most 100%,
	// rounded up. It must be 0 if maxSurge is not 0.
	// Defaults to 1 if neither maxUnavailable nor maxSurge is set.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,2,opt,name=maxUnavailable"`

	// maxSurge is the maximum number of nodes on which the old and the new Pod run at the
	// same time during an update. It is a number, or a percentage of the eligible nodes of
	// at most 100%, rounded up. It must be 0 if maxUnavailable is not 0.
	// Defaults to 0.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty" protobuf:"bytes,3,opt,name=maxSurge"`

	// selector selects the nodes to update by their labels. partition still counts all
	// nodes.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,4,opt,name=selector"`

	// partition is the number of nodes on which the old Pod stays. It is a number, or a
	// percentage of the eligible nodes of at most 100%, rounded down. If unset, the value is
	// 0.
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty" protobuf:"bytes,5,opt,name=partition"`

	// paused stops updates. Pods on new nodes are still created.
	// Defaults to false.
	// +optional
	// +default=false
	Paused *bool `json:"paused,omitempty" protobuf:"varint,6,opt,name=paused"`
}

// DaemonSetStatus is the observed state.
type DaemonSetStatus struct {
	// currentNumberScheduled is the number of eligible nodes that have a Pod.
	CurrentNumberScheduled int32 `json:"currentNumberScheduled" protobuf:"varint,1,opt,name=currentNumberScheduled"`

	// numberMisscheduled is the number of nodes that have a Pod but are not eligible.
	NumberMisscheduled int32 `json:"numberMisscheduled" protobuf:"varint,2,opt,name=numberMisscheduled"`

	// desiredNumberScheduled is the number of eligible nodes.
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled" protobuf:"varint,3,opt,name=desiredNumberScheduled"`

	// numberReady is the number of eligible nodes that have a ready Pod.
	NumberReady int32 `json:"numberReady" protobuf:"varint,4,opt,name=numberReady"`

	// observedGeneration is the generation of the DaemonSet that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,5,opt,name=observedGeneration"`

	// updatedNumberScheduled is the number of eligible nodes that have a Pod at the update
	// revision.
	UpdatedNumberScheduled int32 `json:"updatedNumberScheduled" protobuf:"varint,6,opt,name=updatedNumberScheduled"`

	// numberAvailable is the number of eligible nodes that have a Pod that has been ready
	// for minReadySeconds.
	// +optional
	NumberAvailable int32 `json:"numberAvailable,omitempty" protobuf:"varint,7,opt,name=numberAvailable"`

	// numberUnavailable is the number of eligible nodes without an available Pod.
	// +optional
	NumberUnavailable int32 `json:"numberUnavailable,omitempty" protobuf:"varint,8,opt,name=numberUnavailable"`

	// collisionCount is the number of collisions of revision names. The controller uses it
	// to create a unique name.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,9,opt,name=collisionCount"`

	// conditions are the latest observed conditions. The only type is Reconciling, which is True
	// while the Pods do not match the spec.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []appsv1.DaemonSetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,10,rep,name=conditions"`

	// daemonSetHash is the short hash of the update revision. Pods have it in the label
	// controller-revision-hash.
	DaemonSetHash string `json:"daemonSetHash" protobuf:"bytes,11,opt,name=daemonSetHash"`
}
