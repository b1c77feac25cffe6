package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// CloneSetUpdateStrategyType defines how a Pod is updated.
// +enum
//
// The empty value means the default.
type CloneSetUpdateStrategyType string

const (
	// RecreateCloneSetUpdateStrategyType deletes the Pod and creates a new one.
	RecreateCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "ReCreate"
	// InPlaceIfPossibleCloneSetUpdateStrategyType updates the Pod in place if the change
	// allows it, and recreates it otherwise.
	InPlaceIfPossibleCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "InPlaceIfPossible"
	// InPlaceOnlyCloneSetUpdateStrategyType updates the Pod in place and refuses any other change.
	InPlaceOnlyCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "InPlaceOnly"
	// OnDeleteCloneSetUpdateStrategyType updates a Pod only when you delete it.
	OnDeleteCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "OnDelete"
)

// CloneSetConditionType is the type of a condition of a CloneSet.
type CloneSetConditionType string

const (
	// CloneSetConditionFailedScale means that Pods could not be created or deleted.
	CloneSetConditionFailedScale CloneSetConditionType = "FailedScale"
	// CloneSetConditionFailedUpdate means that Pods could not be updated.
	CloneSetConditionFailedUpdate CloneSetConditionType = "FailedUpdate"
	// CloneSetConditionProgressing reports whether a rollout makes progress within its
	// deadline.
	CloneSetConditionProgressing CloneSetConditionType = "Progressing"
)

// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=ApplyScale,verb=apply,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CloneSet manages the Pods of a stateless application directly, without a ReplicaSet. In addition to the features of a
// Deployment, it can update Pods in place, keep some Pods at the old revision, delete the Pods that you name, and give
// each Pod its own volumes.
type CloneSet struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the CloneSet.
	// +optional
	Spec CloneSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
	// +optional
	Status CloneSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CloneSetList is a list of CloneSets.
type CloneSetList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of CloneSets.
	Items []CloneSet `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// CloneSetSpec is the desired state of a CloneSet.
type CloneSetSpec struct {
	// replicas is the number of Pods. Zero is allowed.
	// Defaults to 1.
	// +optional
	// +default=1
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`

	// selector selects the Pods of the CloneSet by their labels. It must match the labels
	// of the template, must not be empty, and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,2,opt,name=selector"`

	// template is the Pod that the CloneSet creates. restartPolicy must be Always, and
	// activeDeadlineSeconds must not be set.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,3,opt,name=template"`

	// volumeClaimTemplates are the claims that the controller creates for each Pod. A claim
	// replaces a volume of the template with the same name. A change affects only new Pods
	// and does not start an update. When the controller deletes a Pod, it also deletes its
	// claims, even if it recreates the Pod for an update.
	// +optional
	// +listType=atomic
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty" protobuf:"bytes,4,rep,name=volumeClaimTemplates"`

	// scaleStrategy defines how Pods are created and which Pods are deleted first.
	// +optional
	ScaleStrategy CloneSetScaleStrategy `json:"scaleStrategy,omitempty" protobuf:"bytes,5,opt,name=scaleStrategy"`

	// updateStrategy defines how Pods are updated to a new revision of the template.
	// +optional
	UpdateStrategy CloneSetUpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,6,opt,name=updateStrategy"`

	// revisionHistoryLimit is the number of old revisions to keep, in addition to the
	// revisions that Pods use.
	// Defaults to 10.
	// +optional
	// +default=10
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,7,opt,name=revisionHistoryLimit"`

	// minReadySeconds is the number of seconds that a Pod must be ready before it counts as
	// available.
	// Defaults to 0: a Pod is available as soon as it is ready.
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,8,opt,name=minReadySeconds"`

	// lifecycle defines hooks. A hook holds a Pod before deletion, before and after an
	// in-place update, or before it counts as available, until you release the Pod.
	// +optional
	Lifecycle *pub.Lifecycle `json:"lifecycle,omitempty" protobuf:"bytes,9,opt,name=lifecycle"`

	// progressDeadlineSeconds is the number of seconds without progress after which the
	// condition Progressing becomes False. It must be greater than minReadySeconds. The
	// rollout continues. If unset or 2147483647, the condition is not reported.
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty" protobuf:"varint,10,opt,name=progressDeadlineSeconds"`
}

// CloneSetScaleStrategy defines how Pods are created and which Pods are deleted first.
type CloneSetScaleStrategy struct {
	// podsToDelete is the list of names of Pods to delete. Each must be a running Pod of
	// this CloneSet. The controller creates replacements, unless you also lower replicas. It
	// removes a name from the list when the Pod no longer exists.
	// +optional
	// +listType=set
	// +patchStrategy=merge
	PodsToDelete []string `json:"podsToDelete,omitempty" patchStrategy:"merge" protobuf:"bytes,1,rep,name=podsToDelete"`

	// maxUnavailable limits the creation of Pods. The controller creates no Pods while this
	// number of Pods is unavailable. It is a number, or a percentage of replicas such as
	// "10%", rounded up. 0 stops creation.
	// Defaults to no limit.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,2,opt,name=maxUnavailable"`

	// disablePVCReuse makes each new Pod start with new claims. If false, the replacement of
	// a lost Pod, for example an evicted one, gets the claims of the lost Pod.
	// Defaults to false.
	// +optional
	DisablePVCReuse bool `json:"disablePVCReuse,omitempty" protobuf:"varint,3,opt,name=disablePVCReuse"`

	// enablePVCReuse is the field of v1beta1 in place of disablePVCReuse. See
	// updateStrategy.rollingUpdate.
	// +optional
	EnablePVCReuse bool `json:"enablePVCReuse,omitempty" protobuf:"varint,4,opt,name=enablePVCReuse"`

	// excludePreparingDelete is the field of v1beta1 in place of the label
	// apps.kruise.io/cloneset-scaling-exclude-preparing-delete. See
	// updateStrategy.rollingUpdate.
	// +optional
	ExcludePreparingDelete bool `json:"excludePreparingDelete,omitempty" protobuf:"varint,5,opt,name=excludePreparingDelete"`
}

// CloneSetUpdateStrategy defines how Pods are updated to a new revision.
type CloneSetUpdateStrategy struct {
	// type is ReCreate, InPlaceIfPossible, InPlaceOnly or OnDelete. ReCreate deletes a Pod
	// and creates a new one. InPlaceIfPossible updates the containers of the Pod if the
	// change allows it, and recreates the Pod otherwise. InPlaceOnly updates the containers
	// of the Pod and refuses any change that requires a new Pod. OnDelete updates a Pod only
	// when you delete it.
	// Defaults to ReCreate.
	// +optional
	// +default="ReCreate"
	Type CloneSetUpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=CloneSetUpdateStrategyType"`

	// partition is the number of Pods that stay at the old revision. It is a number, or a
	// percentage of replicas such as "90%", rounded up. With more than one replica, only
	// 100% keeps all Pods at the old revision.
	// Defaults to 0.
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty" protobuf:"bytes,2,opt,name=partition"`

	// maxUnavailable is the maximum number of unavailable Pods during an update, or during a
	// deletion that you request. It is a number, or a percentage of replicas such as "20%",
	// rounded up, or rounded down if maxSurge is greater than 0. It cannot be 0 if maxSurge
	// is 0.
	// Defaults to 20%.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,3,opt,name=maxUnavailable"`

	// maxSurge is the maximum number of Pods in addition to replicas during an update, or
	// during a deletion that you request. It is a number, or a percentage of replicas such
	// as "20%", rounded up. It must be 0 with InPlaceOnly.
	// Defaults to 0.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty" protobuf:"bytes,4,opt,name=maxSurge"`

	// paused stops updates. Scaling continues.
	// Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,5,opt,name=paused"`

	// priorityStrategy defines which Pods are updated first.
	// +optional
	PriorityStrategy *pub.UpdatePriorityStrategy `json:"priorityStrategy,omitempty" protobuf:"bytes,6,opt,name=priorityStrategy"`

	// scatterStrategy spreads the Pods that have one of these labels evenly over the update.
	// +optional
	// +listType=atomic
	ScatterStrategy []pub.UpdateScatterTerm `json:"scatterStrategy,omitempty" protobuf:"bytes,7,rep,name=scatterStrategy"`

	// inPlaceUpdateStrategy contains the settings of an in-place update.
	// +optional
	InPlaceUpdateStrategy *pub.InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty" protobuf:"bytes,8,opt,name=inPlaceUpdateStrategy"`

	// rollingUpdate contains the settings of a rolling update in the form of v1beta1. Some
	// clients write the template of a v1alpha1 UnitedDeployment in this form, and it is
	// returned to them in this form. In a CloneSet, the settings are returned in the fields
	// above. A field of this block overrides the field of the same name above.
	// +optional
	RollingUpdate *v1beta1.RollingUpdateCloneSetStrategy `json:"rollingUpdate,omitempty" protobuf:"bytes,9,opt,name=rollingUpdate"`
}

// CloneSetStatus is the observed state.
type CloneSetStatus struct {
	// observedGeneration is the generation of the CloneSet that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// replicas is the number of Pods that are neither terminating nor finished.
	Replicas int32 `json:"replicas" protobuf:"varint,2,opt,name=replicas"`

	// readyReplicas is the number of ready Pods.
	ReadyReplicas int32 `json:"readyReplicas" protobuf:"varint,3,opt,name=readyReplicas"`

	// availableReplicas is the number of Pods that have been ready for minReadySeconds and
	// are not held by a lifecycle hook.
	AvailableReplicas int32 `json:"availableReplicas" protobuf:"varint,4,opt,name=availableReplicas"`

	// updatedReplicas is the number of Pods at updateRevision.
	UpdatedReplicas int32 `json:"updatedReplicas" protobuf:"varint,5,opt,name=updatedReplicas"`

	// updatedReadyReplicas is the number of ready Pods at updateRevision.
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas" protobuf:"varint,6,opt,name=updatedReadyReplicas"`

	// updatedAvailableReplicas is the number of available Pods at updateRevision.
	// +optional
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas,omitempty" protobuf:"varint,7,opt,name=updatedAvailableReplicas"`

	// expectedUpdatedReplicas is the number of Pods that partition allows at updateRevision.
	// +optional
	ExpectedUpdatedReplicas int32 `json:"expectedUpdatedReplicas,omitempty" protobuf:"varint,8,opt,name=expectedUpdatedReplicas"`

	// updateRevision is the name of the revision of the current template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty" protobuf:"bytes,9,opt,name=updateRevision"`

	// currentRevision is the name of the last revision to which all Pods were updated.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty" protobuf:"bytes,10,opt,name=currentRevision"`

	// collisionCount is the number of collisions of revision names. The controller uses it
	// to create a unique name.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,11,opt,name=collisionCount"`

	// conditions are the latest observed conditions. Their types are FailedScale, FailedUpdate,
	// Progressing, Reconciling and Stalled. Reconciling is True while the Pods do not match the
	// spec. Stalled replaces it after progressDeadlineSeconds.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []CloneSetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,12,rep,name=conditions"`

	// labelSelector is the selector in string form, for autoscalers.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty" protobuf:"bytes,13,opt,name=labelSelector"`
}

// CloneSetCondition describes one aspect of the state of a CloneSet.
type CloneSetCondition struct {
	// type is FailedScale, FailedUpdate, Progressing, Reconciling or Stalled.
	Type CloneSetConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=CloneSetConditionType"`

	// status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/api/core/v1.ConditionStatus"`

	// lastUpdateTime is the last time that the condition was updated.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty" protobuf:"bytes,3,opt,name=lastUpdateTime"`

	// lastTransitionTime is the last time that status changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`

	// reason is a machine-readable code for the cause.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`

	// message is a human-readable explanation.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}
