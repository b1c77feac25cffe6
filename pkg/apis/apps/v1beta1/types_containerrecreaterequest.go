package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContainerRecreateRequestFailurePolicyType defines what happens when a container cannot be stopped.
// +enum
type ContainerRecreateRequestFailurePolicyType string

const (
	// FailContainerRecreateRequestFailurePolicy ends the request.
	FailContainerRecreateRequestFailurePolicy ContainerRecreateRequestFailurePolicyType = "Fail"
	// IgnoreContainerRecreateRequestFailurePolicy continues with the other containers.
	IgnoreContainerRecreateRequestFailurePolicy ContainerRecreateRequestFailurePolicyType = "Ignore"
)

// ContainerRecreateRequestPhase is the phase of a request or of one of its containers.
// +enum
//
// The empty value means that no agent has seen the request yet.
type ContainerRecreateRequestPhase string

const (
	// ContainerRecreateRequestPending means that the work has not started.
	ContainerRecreateRequestPending ContainerRecreateRequestPhase = "Pending"
	// ContainerRecreateRequestRecreating means that the work is in progress.
	ContainerRecreateRequestRecreating ContainerRecreateRequestPhase = "Recreating"
	// ContainerRecreateRequestSucceeded means that the container runs again.
	ContainerRecreateRequestSucceeded ContainerRecreateRequestPhase = "Succeeded"
	// ContainerRecreateRequestFailed means that the container could not be stopped.
	ContainerRecreateRequestFailed ContainerRecreateRequestPhase = "Failed"
	// ContainerRecreateRequestCompleted means that the request has finished, with success or
	// failure.
	ContainerRecreateRequestCompleted ContainerRecreateRequestPhase = "Completed"
)

// ContainerRecreateRequestConditionPreRecreateGrace is True after the Pod was taken out of service, before its
// containers are stopped.
const ContainerRecreateRequestConditionPreRecreateGrace = "PreRecreateGrace"

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ContainerRecreateRequest restarts containers of a running Pod in place. The Pod keeps its
// name, its address, its node and its volumes; the containers lose what they wrote to their own
// file system. A request is carried out once. To restart again, create another request.
type ContainerRecreateRequest struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines which containers to restart, and how. It cannot be changed.
	// +optional
	Spec ContainerRecreateRequestSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the progress of the request.
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

// ContainerRecreateRequestSpec defines which containers to restart, and how.
type ContainerRecreateRequestSpec struct {
	// podName is the name of a running Pod in the same namespace.
	PodName string `json:"podName" protobuf:"bytes,1,opt,name=podName"`

	// containers are the containers to restart, in the order in which they are stopped.
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Containers []ContainerRecreateRequestContainer `json:"containers" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,2,rep,name=containers"`

	// strategy defines how the containers are restarted.
	// +optional
	Strategy *ContainerRecreateRequestStrategy `json:"strategy,omitempty" protobuf:"bytes,3,opt,name=strategy"`

	// activeDeadlineSeconds is the number of seconds after its creation at which the request
	// ends, even if containers have not restarted. The minimum is 3. If unset, there is no
	// limit.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,4,opt,name=activeDeadlineSeconds"`

	// ttlSecondsAfterFinished is the number of seconds after which a finished request is
	// deleted. If unset, the request is not deleted.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,5,opt,name=ttlSecondsAfterFinished"`
}

// ContainerRecreateRequestContainer is a container to restart. Give its name alone: the server
// fills in the other fields from the Pod, and rejects a request that sets them.
type ContainerRecreateRequestContainer struct {
	// name is the name of a container of the Pod. Init containers and ephemeral containers
	// cannot be restarted.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// preStop is the hook that runs before the container is stopped. The server copies it
	// from the Pod; do not set it.
	// +optional
	PreStop *corev1.LifecycleHandler `json:"preStop,omitempty" protobuf:"bytes,2,opt,name=preStop"`

	// ports are the ports of the container. A preStop httpGet can refer to them by name. The
	// server copies them from the Pod; do not set them.
	// +optional
	// +listType=atomic
	Ports []corev1.ContainerPort `json:"ports,omitempty" protobuf:"bytes,3,rep,name=ports"`

	// statusContext identifies the container instance to stop. The server copies it from the
	// Pod; do not set it.
	// +optional
	StatusContext *ContainerRecreateRequestContainerContext `json:"statusContext,omitempty" protobuf:"bytes,4,opt,name=statusContext"`
}

// ContainerRecreateRequestContainerContext is one instance of a container.
type ContainerRecreateRequestContainerContext struct {
	// containerID is the ID of the instance, such as containerd://<id>.
	ContainerID string `json:"containerID" protobuf:"bytes,1,opt,name=containerID"`

	// restartCount is the restart count of the container when this instance ran.
	RestartCount int32 `json:"restartCount" protobuf:"varint,2,opt,name=restartCount"`
}

// ContainerRecreateRequestStrategy defines how containers are restarted.
type ContainerRecreateRequestStrategy struct {
	// failurePolicy is Fail or Ignore. Fail ends the request when a container cannot be
	// stopped. Ignore continues with the other containers.
	// Defaults to Fail.
	// +optional
	// +default="Fail"
	FailurePolicy ContainerRecreateRequestFailurePolicyType `json:"failurePolicy,omitempty" protobuf:"bytes,1,opt,name=failurePolicy,casttype=ContainerRecreateRequestFailurePolicyType"`

	// orderedRecreate stops a container only after the previous container runs again.
	// Defaults to false.
	// +optional
	OrderedRecreate bool `json:"orderedRecreate,omitempty" protobuf:"varint,2,opt,name=orderedRecreate"`

	// forceRecreate stops a container even if it has already restarted after the creation of
	// the request. If false, such a container counts as restarted.
	// Defaults to false.
	// +optional
	ForceRecreate bool `json:"forceRecreate,omitempty" protobuf:"varint,3,opt,name=forceRecreate"`

	// terminationGracePeriodSeconds is the number of seconds that a container can take to
	// stop, including its preStop hook.
	// Defaults to the value of the Pod.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" protobuf:"varint,4,opt,name=terminationGracePeriodSeconds"`

	// unreadyGracePeriodSeconds is the number of seconds that the Pod is marked not ready
	// before its containers are stopped, so that endpoints can drain. It requires the
	// readiness gate KruisePodReady. 0 marks the Pod not ready and does not wait. If unset,
	// the Pod is not marked.
	// +optional
	UnreadyGracePeriodSeconds *int64 `json:"unreadyGracePeriodSeconds,omitempty" protobuf:"varint,5,opt,name=unreadyGracePeriodSeconds"`

	// minStartedSeconds is the number of seconds that a container must run before it counts
	// as restarted.
	// Defaults to 0: it counts as restarted as soon as it is ready.
	// +optional
	MinStartedSeconds int32 `json:"minStartedSeconds,omitempty" protobuf:"varint,6,opt,name=minStartedSeconds"`
}

// ContainerRecreateRequestStatus is the progress of a request.
type ContainerRecreateRequestStatus struct {
	// phase is Pending, Recreating or Completed, or empty before an agent has seen the
	// request. Completed means that the request has finished. It succeeded if the phase of
	// each container is Succeeded.
	Phase ContainerRecreateRequestPhase `json:"phase" protobuf:"bytes,1,opt,name=phase,casttype=ContainerRecreateRequestPhase"`

	// completionTime is the time at which the request finished.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,2,opt,name=completionTime"`

	// message explains why the request ended early.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`

	// containerRecreateStates are the containers' states, in the order of the spec.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	ContainerRecreateStates []ContainerRecreateRequestContainerRecreateState `json:"containerRecreateStates,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,4,rep,name=containerRecreateStates"`

	// containerStatusSnapshot is the status of the containers in the Pod. The node agent
	// uses it to decide what to do.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	ContainerStatusSnapshot []ContainerRecreateRequestContainerStatus `json:"containerStatusSnapshot,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,5,rep,name=containerStatusSnapshot"`

	// conditions are the latest observed conditions. The only type is PreRecreateGrace.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

// ContainerRecreateRequestContainerRecreateState is the progress of one container.
type ContainerRecreateRequestContainerRecreateState struct {
	// name is the container's name.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// phase is Pending, Recreating, Succeeded or Failed.
	Phase ContainerRecreateRequestPhase `json:"phase" protobuf:"bytes,2,opt,name=phase,casttype=ContainerRecreateRequestPhase"`

	// message is a human-readable explanation of the phase.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`

	// isKilled is true if the node agent has stopped the container.
	// +optional
	IsKilled bool `json:"isKilled,omitempty" protobuf:"varint,4,opt,name=isKilled"`
}

// ContainerRecreateRequestContainerStatus is the status of a container in the Pod.
type ContainerRecreateRequestContainerStatus struct {
	// name is the container's name.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// ready is true if the container is ready.
	Ready bool `json:"ready" protobuf:"varint,2,opt,name=ready"`

	// restartCount is the number of restarts of the container.
	RestartCount int32 `json:"restartCount" protobuf:"varint,3,opt,name=restartCount"`

	// containerID is the ID of the running instance, such as containerd://<id>.
	// +optional
	ContainerID string `json:"containerID,omitempty" protobuf:"bytes,4,opt,name=containerID"`
}
