package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContainerRecreateRequestFailurePolicyType says what one container that could not be stopped
// does to the others.
// +enum
type ContainerRecreateRequestFailurePolicyType string

const (
	// FailContainerRecreateRequestFailurePolicy ends the request.
	FailContainerRecreateRequestFailurePolicy ContainerRecreateRequestFailurePolicyType = "Fail"
	// IgnoreContainerRecreateRequestFailurePolicy goes on with the other containers.
	IgnoreContainerRecreateRequestFailurePolicy ContainerRecreateRequestFailurePolicyType = "Ignore"
)

// ContainerRecreateRequestPhase is how far a request, or one of its containers, has come.
// +enum
//
// The empty value says that no agent has seen the request yet.
type ContainerRecreateRequestPhase string

const (
	// ContainerRecreateRequestPending waits for its turn.
	ContainerRecreateRequestPending ContainerRecreateRequestPhase = "Pending"
	// ContainerRecreateRequestRecreating is being worked on.
	ContainerRecreateRequestRecreating ContainerRecreateRequestPhase = "Recreating"
	// ContainerRecreateRequestSucceeded is a container that runs again.
	ContainerRecreateRequestSucceeded ContainerRecreateRequestPhase = "Succeeded"
	// ContainerRecreateRequestFailed is a container that could not be stopped.
	ContainerRecreateRequestFailed ContainerRecreateRequestPhase = "Failed"
	// ContainerRecreateRequestCompleted is a request that has ended, well or not.
	ContainerRecreateRequestCompleted ContainerRecreateRequestPhase = "Completed"
)

// ContainerRecreateRequestConditionPreRecreateGrace is True from when the Pod was taken out of
// service before its containers are stopped.
const ContainerRecreateRequestConditionPreRecreateGrace = "PreRecreateGrace"

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ContainerRecreateRequest restarts containers of a running Pod in place. The Pod keeps its name,
// its address, its node and its volumes; the containers lose what they wrote to their own file
// system. A request is worked on once: to restart again, create another.
type ContainerRecreateRequest struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says which containers to restart, and how. It cannot be changed.
	// +optional
	Spec ContainerRecreateRequestSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is how far the request has come.
	// +optional
	Status ContainerRecreateRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ContainerRecreateRequestList is a list of ContainerRecreateRequests.
type ContainerRecreateRequestList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of ContainerRecreateRequests.
	Items []ContainerRecreateRequest `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ContainerRecreateRequestSpec says which containers to restart, and how.
type ContainerRecreateRequestSpec struct {
	// podName is the name of a running Pod in the same namespace.
	PodName string `json:"podName" protobuf:"bytes,1,opt,name=podName"`

	// containers are the containers to restart, in the order in which they are stopped.
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Containers []ContainerRecreateRequestContainer `json:"containers" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,2,rep,name=containers"`

	// strategy says how the containers are restarted.
	// +optional
	Strategy *ContainerRecreateRequestStrategy `json:"strategy,omitempty" protobuf:"bytes,3,opt,name=strategy"`

	// activeDeadlineSeconds is how long the request may take, counted from its creation. Then
	// it ends as it is. At least 3.
	// Unset means that there is no limit.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,4,opt,name=activeDeadlineSeconds"`

	// ttlSecondsAfterFinished is how long the request is kept after it ended.
	// Unset means for ever.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,5,opt,name=ttlSecondsAfterFinished"`
}

// ContainerRecreateRequestContainer is a container to restart. Give its name alone: the server
// fills in the other fields from the Pod, and refuses a request that brings them.
type ContainerRecreateRequestContainer struct {
	// name is the name of a container of the Pod. Init containers and ephemeral containers
	// cannot be restarted.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// preStop is what the container does before it is stopped. The server copies it from the
	// Pod; do not set it.
	// +optional
	PreStop *corev1.LifecycleHandler `json:"preStop,omitempty" protobuf:"bytes,2,opt,name=preStop"`

	// ports are the container's ports, for an httpGet in preStop that names one of them. The
	// server copies them from the Pod; do not set them.
	// +optional
	// +listType=atomic
	Ports []corev1.ContainerPort `json:"ports,omitempty" protobuf:"bytes,3,rep,name=ports"`

	// statusContext is the instance of the container that is to go. The server copies it from
	// the Pod; do not set it.
	// +optional
	StatusContext *ContainerRecreateRequestContainerContext `json:"statusContext,omitempty" protobuf:"bytes,4,opt,name=statusContext"`
}

// ContainerRecreateRequestContainerContext is one instance of a container.
type ContainerRecreateRequestContainerContext struct {
	// containerID is the instance, like containerd://<id>.
	ContainerID string `json:"containerID" protobuf:"bytes,1,opt,name=containerID"`

	// restartCount is how often the container had been restarted when this instance ran.
	RestartCount int32 `json:"restartCount" protobuf:"varint,2,opt,name=restartCount"`
}

// ContainerRecreateRequestStrategy says how containers are restarted.
type ContainerRecreateRequestStrategy struct {
	// failurePolicy is Fail or Ignore. Fail ends the request when a container cannot be
	// stopped. Ignore goes on with the others.
	// Defaults to Fail.
	// +optional
	// +default="Fail"
	FailurePolicy ContainerRecreateRequestFailurePolicyType `json:"failurePolicy,omitempty" protobuf:"bytes,1,opt,name=failurePolicy,casttype=ContainerRecreateRequestFailurePolicyType"`

	// orderedRecreate stops a container only when the one before it runs again.
	// Defaults to false.
	// +optional
	OrderedRecreate bool `json:"orderedRecreate,omitempty" protobuf:"varint,2,opt,name=orderedRecreate"`

	// forceRecreate stops a container once even if it was restarted after the request was
	// created. When false, such a container counts as restarted.
	// Defaults to false.
	// +optional
	ForceRecreate bool `json:"forceRecreate,omitempty" protobuf:"varint,3,opt,name=forceRecreate"`

	// terminationGracePeriodSeconds is how long a container may take to stop, its preStop hook
	// included.
	// Defaults to that of the Pod.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" protobuf:"varint,4,opt,name=terminationGracePeriodSeconds"`

	// unreadyGracePeriodSeconds marks the Pod not ready and waits so long before containers
	// are stopped, so that endpoints can drain. It needs the readiness gate KruisePodReady.
	// 0 marks the Pod and does not wait. Unset leaves the Pod as it is.
	// +optional
	UnreadyGracePeriodSeconds *int64 `json:"unreadyGracePeriodSeconds,omitempty" protobuf:"varint,5,opt,name=unreadyGracePeriodSeconds"`

	// minStartedSeconds is how long a container must have run again to count as restarted.
	// Defaults to 0: it counts as soon as it is ready.
	// +optional
	MinStartedSeconds int32 `json:"minStartedSeconds,omitempty" protobuf:"varint,6,opt,name=minStartedSeconds"`
}

// ContainerRecreateRequestStatus is how far a request has come.
type ContainerRecreateRequestStatus struct {
	// phase is Pending, Recreating or Completed, or empty before an agent has seen the
	// request. Completed says that it ended, not that it succeeded: it did when the phase of
	// each container is Succeeded.
	Phase ContainerRecreateRequestPhase `json:"phase" protobuf:"bytes,1,opt,name=phase,casttype=ContainerRecreateRequestPhase"`

	// completionTime is when the request ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,2,opt,name=completionTime"`

	// message says why the request ended before its time.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`

	// containerRecreateStates are the containers' states, in the order of the spec.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	ContainerRecreateStates []ContainerRecreateRequestContainerRecreateState `json:"containerRecreateStates,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,4,rep,name=containerRecreateStates"`

	// containerStatusSnapshot is what the Pod says about the containers since the request was
	// created. The node's agent decides by it.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	ContainerStatusSnapshot []ContainerRecreateRequestContainerStatus `json:"containerStatusSnapshot,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,5,rep,name=containerStatusSnapshot"`

	// conditions are the latest observations: PreRecreateGrace says since when the Pod is out
	// of service.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

// ContainerRecreateRequestContainerRecreateState is how far a container has come.
type ContainerRecreateRequestContainerRecreateState struct {
	// name is the container's name.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// phase is Pending, Recreating, Succeeded or Failed.
	Phase ContainerRecreateRequestPhase `json:"phase" protobuf:"bytes,2,opt,name=phase,casttype=ContainerRecreateRequestPhase"`

	// message says why.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`

	// isKilled says that the agent has stopped the container.
	// +optional
	IsKilled bool `json:"isKilled,omitempty" protobuf:"varint,4,opt,name=isKilled"`
}

// ContainerRecreateRequestContainerStatus is what the Pod says about a container.
type ContainerRecreateRequestContainerStatus struct {
	// name is the container's name.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// ready says whether the container is ready.
	Ready bool `json:"ready" protobuf:"varint,2,opt,name=ready"`

	// restartCount is how often the container has been restarted.
	RestartCount int32 `json:"restartCount" protobuf:"varint,3,opt,name=restartCount"`

	// containerID is the instance that runs, like containerd://<id>.
	// +optional
	ContainerID string `json:"containerID,omitempty" protobuf:"bytes,4,opt,name=containerID"`
}
