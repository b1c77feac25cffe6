package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// Conditions of a StatefulSet.
const (
	// StatefulSetConditionFailedCreatePod means that a Pod or its claims could not be
	// created.
	StatefulSetConditionFailedCreatePod appsv1.StatefulSetConditionType = "FailedCreatePod"
	// StatefulSetConditionFailedUpdatePod means that a Pod could not be updated.
	StatefulSetConditionFailedUpdatePod appsv1.StatefulSetConditionType = "FailedUpdatePod"
)

// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=ApplyScale,verb=apply,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// StatefulSet manages Pods that keep their names, their order and their volumes. In addition to the features of a
// StatefulSet of apps/v1, it can update several Pods at once, update Pods in place, skip ordinals that you reserve, and
// limit how fast it scales.
type StatefulSet struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the StatefulSet.
	// +optional
	Spec StatefulSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
	// +optional
	Status StatefulSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// StatefulSetList is a list of StatefulSets.
type StatefulSetList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of StatefulSets.
	Items []StatefulSet `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// StatefulSetSpec is the desired state of a StatefulSet.
type StatefulSetSpec struct {
	// replicas is the number of Pods. Zero is allowed.
	// Defaults to 1.
	// +optional
	// +default=1
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`

	// selector selects the Pods of the StatefulSet by their labels. It must match the labels
	// of the template, must not be empty, and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,2,opt,name=selector"`

	// template is the Pod that the StatefulSet creates. restartPolicy must be Always, and
	// activeDeadlineSeconds must not be set. hostname and subdomain are set for each Pod.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,3,opt,name=template"`

	// volumeClaimTemplates are the claims that the controller creates for each Pod. Claims
	// are named after the Pod: a later Pod with the same ordinal gets the same claims. A
	// claim replaces a volume of the template with the same name. A change affects only new
	// claims and does not start an update, unless volumeClaimUpdateStrategy says otherwise.
	// +optional
	// +listType=atomic
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty" protobuf:"bytes,4,rep,name=volumeClaimTemplates"`

	// serviceName is the headless Service for the DNS names of the Pods:
	// <pod>.<serviceName>.<namespace>.svc. You must create the Service. The field cannot be
	// changed.
	// +optional
	ServiceName string `json:"serviceName,omitempty" protobuf:"bytes,5,opt,name=serviceName"`

	// podManagementPolicy is OrderedReady or Parallel, and cannot be changed. OrderedReady
	// creates a Pod after all Pods with a lower ordinal are ready, deletes Pods in reverse
	// order, and updates one Pod at a time. Parallel does not wait for other Pods.
	// Defaults to OrderedReady.
	// +optional
	// +default="OrderedReady"
	PodManagementPolicy appsv1.PodManagementPolicyType `json:"podManagementPolicy,omitempty" protobuf:"bytes,6,opt,name=podManagementPolicy,casttype=k8s.io/api/apps/v1.PodManagementPolicyType"`

	// updateStrategy defines how Pods are updated to a new revision of the template.
	// +optional
	UpdateStrategy StatefulSetUpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,7,opt,name=updateStrategy"`

	// revisionHistoryLimit is the number of old revisions to keep, in addition to the
	// revisions that Pods use.
	// Defaults to 10.
	// +optional
	// +default=10
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,8,opt,name=revisionHistoryLimit"`
}

// StatefulSetUpdateStrategy defines how Pods are updated to a new revision.
type StatefulSetUpdateStrategy struct {
	// type is RollingUpdate or OnDelete. RollingUpdate updates Pods gradually. OnDelete
	// updates a Pod only when you delete it.
	// Defaults to RollingUpdate.
	// +optional
	// +default="RollingUpdate"
	Type appsv1.StatefulSetUpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=k8s.io/api/apps/v1.StatefulSetUpdateStrategyType"`

	// rollingUpdate contains the settings of a rolling update. It must not be set with
	// OnDelete.
	// +optional
	RollingUpdate *RollingUpdateStatefulSetStrategy `json:"rollingUpdate,omitempty" protobuf:"bytes,2,opt,name=rollingUpdate"`
}

// RollingUpdateStatefulSetStrategy contains the settings of a rolling update.
type RollingUpdateStatefulSetStrategy struct {
	// partition is the number of Pods that stay at the old revision: the Pods with the
	// lowest ordinals, or with unorderedUpdate the last Pods in its order. It must be a
	// number, not a percentage.
	// Defaults to 0.
	// +optional
	// +default=0
	Partition *int32 `json:"partition,omitempty" protobuf:"varint,1,opt,name=partition"`

	// maxUnavailable is the maximum number of unavailable Pods during an update. It is a
	// number, or a percentage of replicas such as "20%", rounded down, and at least 1.
	// Values other than 1 require podManagementPolicy Parallel.
	// Defaults to 1.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,2,opt,name=maxUnavailable"`

	// podUpdatePolicy is ReCreate, InPlaceIfPossible or InPlaceOnly. ReCreate deletes a Pod
	// and creates a new one. InPlaceIfPossible updates the containers of the Pod if the
	// change allows it, and recreates the Pod otherwise. InPlaceOnly updates the containers
	// of the Pod and refuses any change that requires a new Pod. In-place updates require
	// InPlaceUpdateReady in the readinessGates of the template.
	// Defaults to ReCreate.
	// +optional
	// +default="ReCreate"
	PodUpdatePolicy pub.PodUpdatePolicyType `json:"podUpdatePolicy,omitempty" protobuf:"bytes,3,opt,name=podUpdatePolicy,casttype=kruise.io/kruise/pkg/apis/pub.PodUpdatePolicyType"`

	// paused stops updates. Scaling continues.
	// Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,4,opt,name=paused"`

	// unorderedUpdate updates Pods in another order than by descending ordinal. It requires
	// podManagementPolicy Parallel.
	// +optional
	UnorderedUpdate *UnorderedUpdateStrategy `json:"unorderedUpdate,omitempty" protobuf:"bytes,5,opt,name=unorderedUpdate"`

	// inPlaceUpdateStrategy contains the settings of an in-place update.
	// +optional
	InPlaceUpdateStrategy *pub.InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty" protobuf:"bytes,6,opt,name=inPlaceUpdateStrategy"`

	// minReadySeconds is the number of seconds that a Pod must be ready before it counts as
	// available, from 0 to 300.
	// Defaults to 0: a Pod is available as soon as it is ready.
	// +optional
	// +default=0
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty" protobuf:"varint,7,opt,name=minReadySeconds"`
}

// UnorderedUpdateStrategy defines an order of updates other than by descending ordinal.
type UnorderedUpdateStrategy struct {
	// priorityStrategy defines which Pods are updated first. Pods with equal priority are
	// updated by descending ordinal.
	// +optional
	PriorityStrategy *pub.UpdatePriorityStrategy `json:"priorityStrategy,omitempty" protobuf:"bytes,1,opt,name=priorityStrategy"`
}

// StatefulSetStatus is the observed state.
type StatefulSetStatus struct {
	// observedGeneration is the generation of the StatefulSet that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// replicas is the number of existing Pods.
	Replicas int32 `json:"replicas" protobuf:"varint,2,opt,name=replicas"`

	// readyReplicas is the number of running and ready Pods.
	ReadyReplicas int32 `json:"readyReplicas" protobuf:"varint,3,opt,name=readyReplicas"`

	// availableReplicas is the number of Pods that have been ready for minReadySeconds and
	// are not held by a lifecycle hook.
	AvailableReplicas int32 `json:"availableReplicas" protobuf:"varint,4,opt,name=availableReplicas"`

	// currentReplicas is the number of Pods at currentRevision.
	CurrentReplicas int32 `json:"currentReplicas" protobuf:"varint,5,opt,name=currentReplicas"`

	// updatedReplicas is the number of Pods at updateRevision.
	UpdatedReplicas int32 `json:"updatedReplicas" protobuf:"varint,6,opt,name=updatedReplicas"`

	// currentRevision is the name of the last revision to which all Pods were updated.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty" protobuf:"bytes,7,opt,name=currentRevision"`

	// updateRevision is the name of the revision of the current template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty" protobuf:"bytes,8,opt,name=updateRevision"`

	// collisionCount is the number of collisions of revision names. The controller uses it
	// to create a unique name.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,9,opt,name=collisionCount"`

	// conditions are the latest observed conditions. Their types are FailedCreatePod,
	// FailedUpdatePod and Reconciling. Reconciling is True while the Pods do not match the spec.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []appsv1.StatefulSetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,10,rep,name=conditions"`

	// labelSelector is the selector in string form, for autoscalers.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty" protobuf:"bytes,11,opt,name=labelSelector"`
}
