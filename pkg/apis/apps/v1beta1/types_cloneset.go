package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// CloneSetUpdateStrategyType says what starts the update of a Pod.
// +enum
//
// The empty value stands for the default.
type CloneSetUpdateStrategyType string

const (
	// RollingUpdateCloneSetStrategyType updates Pods step by step.
	RollingUpdateCloneSetStrategyType CloneSetUpdateStrategyType = "RollingUpdate"
	// OnDeleteCloneSetStrategyType updates a Pod only when somebody deletes it.
	OnDeleteCloneSetStrategyType CloneSetUpdateStrategyType = "OnDelete"
)

// CloneSetConditionType is the type of a condition of a CloneSet.
type CloneSetConditionType string

const (
	// CloneSetConditionFailedScale says that Pods could not be created or deleted.
	CloneSetConditionFailedScale CloneSetConditionType = "FailedScale"
	// CloneSetConditionFailedUpdate says that Pods could not be updated.
	CloneSetConditionFailedUpdate CloneSetConditionType = "FailedUpdate"
	// CloneSetConditionProgressing says whether a rollout advances within its deadline.
	CloneSetConditionProgressing CloneSetConditionType = "Progressing"
)

// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=ApplyScale,verb=apply,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CloneSet manages the Pods of a stateless application directly, without a ReplicaSet
// in between. Beyond what a Deployment does, it updates Pods in place, keeps a part of
// them at the old revision, deletes the Pods that you name, and gives each Pod volumes
// of its own.
type CloneSet struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the CloneSet.
	// +optional
	Spec CloneSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller observed last. It may lag behind.
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

	// volumeClaimTemplates are claims that each Pod gets for itself. A volume of the template
	// with the same name is replaced by the claim. A change affects only Pods created after
	// it, and starts no update. When the controller deletes a Pod it deletes its claims too,
	// also when it recreates the Pod to update it.
	// +optional
	// +listType=atomic
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty" protobuf:"bytes,4,rep,name=volumeClaimTemplates"`

	// scaleStrategy says how Pods are created and which are deleted.
	// +optional
	ScaleStrategy CloneSetScaleStrategy `json:"scaleStrategy,omitempty" protobuf:"bytes,5,opt,name=scaleStrategy"`

	// updateStrategy says how Pods come to a new revision of the template.
	// +optional
	UpdateStrategy CloneSetUpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,6,opt,name=updateStrategy"`

	// revisionHistoryLimit is how many old revisions are kept, beside those that Pods use.
	// Defaults to 10.
	// +optional
	// +default=10
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,7,opt,name=revisionHistoryLimit"`

	// minReadySeconds is how long a Pod must have been ready to count as available.
	// Defaults to 0: a Pod is available as soon as it is ready.
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,8,opt,name=minReadySeconds"`

	// lifecycle holds Pods before they are deleted, around an in-place update, or before
	// they count as available, until you release them.
	// +optional
	Lifecycle *pub.Lifecycle `json:"lifecycle,omitempty" protobuf:"bytes,9,opt,name=lifecycle"`

	// progressDeadlineSeconds is how long a rollout may go without progress before the
	// condition Progressing turns False. It must be larger than minReadySeconds. The rollout
	// itself goes on. Unset, or 2147483647, turns the condition off.
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty" protobuf:"varint,10,opt,name=progressDeadlineSeconds"`
}

// CloneSetScaleStrategy says how Pods are created and which are deleted.
type CloneSetScaleStrategy struct {
	// podsToDelete are the names of Pods to delete. Each must be a running Pod of this
	// CloneSet. Replacements are created unless replicas is lowered too. The controller
	// removes names from the list when their Pods are gone.
	// +optional
	// +listType=set
	// +patchStrategy=merge
	PodsToDelete []string `json:"podsToDelete,omitempty" patchStrategy:"merge" protobuf:"bytes,1,rep,name=podsToDelete"`

	// maxUnavailable limits how many Pods may be unavailable for new ones to be created.
	// A number, or a percentage of replicas, rounded up, like "10%". 0 stops creation.
	// Defaults to no limit.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,2,opt,name=maxUnavailable"`

	// enablePVCReuse hands the claims of a Pod that was lost, by eviction for example, to the
	// Pod that replaces it. When false, each new Pod starts with new claims.
	// Defaults to false.
	// +optional
	EnablePVCReuse bool `json:"enablePVCReuse,omitempty" protobuf:"varint,3,opt,name=enablePVCReuse"`

	// excludePreparingDelete leaves Pods that a preDelete hook holds out of the count of
	// replicas, so that their replacements are created at once.
	// Defaults to false.
	// +optional
	ExcludePreparingDelete bool `json:"excludePreparingDelete,omitempty" protobuf:"varint,4,opt,name=excludePreparingDelete"`
}

// CloneSetUpdateStrategy says how Pods come to a new revision.
type CloneSetUpdateStrategy struct {
	// type is RollingUpdate or OnDelete. RollingUpdate updates Pods step by step.
	// OnDelete waits until you delete a Pod.
	// Defaults to RollingUpdate.
	// +optional
	// +default="RollingUpdate"
	Type CloneSetUpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=CloneSetUpdateStrategyType"`

	// rollingUpdate is the settings of a rolling update.
	// +optional
	RollingUpdate *RollingUpdateCloneSetStrategy `json:"rollingUpdate,omitempty" protobuf:"bytes,2,opt,name=rollingUpdate"`
}

// RollingUpdateCloneSetStrategy is the settings of a rolling update.
type RollingUpdateCloneSetStrategy struct {
	// podUpdatePolicy is ReCreate, InPlaceIfPossible or InPlaceOnly.
	// ReCreate deletes a Pod and creates a new one. InPlaceIfPossible keeps the Pod and
	// changes its containers where the change allows it, and recreates it otherwise.
	// InPlaceOnly keeps the Pod and refuses any other change.
	// Defaults to ReCreate.
	// +optional
	// +default="ReCreate"
	PodUpdatePolicy pub.PodUpdatePolicyType `json:"podUpdatePolicy,omitempty" protobuf:"bytes,1,opt,name=podUpdatePolicy,casttype=kruise.io/kruise/pkg/apis/pub.PodUpdatePolicyType"`

	// partition is how many Pods stay at the old revision. A number, or a percentage of
	// replicas, rounded up, like "90%". With more than one replica only 100% keeps all.
	// Defaults to 0.
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty" protobuf:"bytes,2,opt,name=partition"`

	// maxUnavailable is how many Pods may be unavailable during an update or a deletion that
	// you asked for. A number, or a percentage of replicas like "20%", rounded up, or down
	// when maxSurge is more than 0. It cannot be 0 when maxSurge is 0.
	// Defaults to 20%.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,3,opt,name=maxUnavailable"`

	// maxSurge is how many Pods may exist beyond replicas during an update or a deletion
	// that you asked for. A number, or a percentage of replicas, rounded up. It must be 0
	// when Pods are updated in place only.
	// Defaults to 0.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty" protobuf:"bytes,4,opt,name=maxSurge"`

	// paused stops updates. Scaling goes on.
	// Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,5,opt,name=paused"`

	// priorityStrategy says which Pods are updated first.
	// +optional
	PriorityStrategy *pub.UpdatePriorityStrategy `json:"priorityStrategy,omitempty" protobuf:"bytes,6,opt,name=priorityStrategy"`

	// scatterStrategy spreads the Pods that have one of these labels evenly over the update.
	// +optional
	// +listType=atomic
	ScatterStrategy []pub.UpdateScatterTerm `json:"scatterStrategy,omitempty" protobuf:"bytes,7,rep,name=scatterStrategy"`

	// inPlaceUpdateStrategy is the settings of an in-place update.
	// +optional
	InPlaceUpdateStrategy *InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty" protobuf:"bytes,8,opt,name=inPlaceUpdateStrategy"`
}

// InPlaceUpdateStrategy is the settings of an in-place update.
type InPlaceUpdateStrategy struct {
	// gracePeriodSeconds is how long a Pod is not ready before its containers change, so
	// that endpoints can drain.
	// Defaults to 0.
	// +optional
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty" protobuf:"varint,1,opt,name=gracePeriodSeconds"`

	// imagePreDownloadParallelism is on how many nodes the new images are pulled at once,
	// before the update reaches them. A number; a percentage is refused.
	// Unset means 1.
	// +optional
	ImagePreDownloadParallelism *intstr.IntOrString `json:"imagePreDownloadParallelism,omitempty" protobuf:"bytes,2,opt,name=imagePreDownloadParallelism"`

	// imagePreDownloadTimeoutSeconds is how long one pull on one node may take.
	// Unset means 300.
	// +optional
	ImagePreDownloadTimeoutSeconds *int32 `json:"imagePreDownloadTimeoutSeconds,omitempty" protobuf:"varint,3,opt,name=imagePreDownloadTimeoutSeconds"`

	// imagePreDownloadMinUpdatedReadyPods is how many Pods must be updated and ready before
	// images are pulled for the others. A number, or a percentage of replicas, rounded up.
	// Unset means at once.
	// +optional
	ImagePreDownloadMinUpdatedReadyPods *intstr.IntOrString `json:"imagePreDownloadMinUpdatedReadyPods,omitempty" protobuf:"bytes,4,opt,name=imagePreDownloadMinUpdatedReadyPods"`
}

// CloneSetStatus is what the controller observed.
type CloneSetStatus struct {
	// observedGeneration is the generation of the CloneSet that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// replicas is the number of Pods that are neither terminating nor finished.
	Replicas int32 `json:"replicas" protobuf:"varint,2,opt,name=replicas"`

	// readyReplicas is how many of them are ready.
	ReadyReplicas int32 `json:"readyReplicas" protobuf:"varint,3,opt,name=readyReplicas"`

	// availableReplicas is how many of them have been ready for minReadySeconds and are held
	// by no lifecycle hook.
	AvailableReplicas int32 `json:"availableReplicas" protobuf:"varint,4,opt,name=availableReplicas"`

	// updatedReplicas is how many of them are at updateRevision.
	UpdatedReplicas int32 `json:"updatedReplicas" protobuf:"varint,5,opt,name=updatedReplicas"`

	// updatedReadyReplicas is how many of them are at updateRevision and ready.
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas" protobuf:"varint,6,opt,name=updatedReadyReplicas"`

	// updatedAvailableReplicas is how many of them are at updateRevision and available.
	// +optional
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas,omitempty" protobuf:"varint,7,opt,name=updatedAvailableReplicas"`

	// expectedUpdatedReplicas is how many Pods partition lets come to updateRevision.
	// +optional
	ExpectedUpdatedReplicas int32 `json:"expectedUpdatedReplicas,omitempty" protobuf:"varint,8,opt,name=expectedUpdatedReplicas"`

	// updateRevision is the name of the revision of the template as it is now.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty" protobuf:"bytes,9,opt,name=updateRevision"`

	// currentRevision is the name of the last revision that reached all Pods.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty" protobuf:"bytes,10,opt,name=currentRevision"`

	// collisionCount counts collisions of revision names. The controller uses it to find
	// a free name.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,11,opt,name=collisionCount"`

	// conditions are the latest observations: FailedScale, FailedUpdate, Progressing.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []CloneSetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,12,rep,name=conditions"`

	// labelSelector is selector as text, for autoscalers.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty" protobuf:"bytes,13,opt,name=labelSelector"`
}

// CloneSetCondition is one observation about a CloneSet.
type CloneSetCondition struct {
	// type is FailedScale, FailedUpdate or Progressing.
	Type CloneSetConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=CloneSetConditionType"`

	// status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/api/core/v1.ConditionStatus"`

	// lastUpdateTime is when the observation was last renewed.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty" protobuf:"bytes,3,opt,name=lastUpdateTime"`

	// lastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`

	// reason is a word for machines that says why.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`

	// message is a sentence for people that says why.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}
