package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContainerRecreateRequestFailurePolicyType defines what happens when a container cannot be stopped.
type ContainerRecreateRequestFailurePolicyType string

const (
	// FailContainerRecreateRequestFailurePolicy ends the request.
	FailContainerRecreateRequestFailurePolicy ContainerRecreateRequestFailurePolicyType = "Fail"
	// IgnoreContainerRecreateRequestFailurePolicy continues with the other containers.
	IgnoreContainerRecreateRequestFailurePolicy ContainerRecreateRequestFailurePolicyType = "Ignore"
)

// ContainerRecreateRequestPhase is the phase of a request or of one of its containers.
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

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ContainerRecreateRequest restarts containers of a running Pod in place.
type ContainerRecreateRequest struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   ContainerRecreateRequestSpec
	Status ContainerRecreateRequestStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ContainerRecreateRequestList is a list of ContainerRecreateRequests.
type ContainerRecreateRequestList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []ContainerRecreateRequest
}

// ContainerRecreateRequestSpec defines which containers to restart, and how. The fields are explained in v1beta1.
type ContainerRecreateRequestSpec struct {
	PodName                 string
	Containers              []ContainerRecreateRequestContainer
	Strategy                *ContainerRecreateRequestStrategy
	ActiveDeadlineSeconds   *int64
	TTLSecondsAfterFinished *int32
}

// ContainerRecreateRequestContainer is a container to restart.
type ContainerRecreateRequestContainer struct {
	Name          string
	PreStop       *corev1.LifecycleHandler
	Ports         []corev1.ContainerPort
	StatusContext *ContainerRecreateRequestContainerContext
}

// ContainerRecreateRequestContainerContext is one instance of a container.
type ContainerRecreateRequestContainerContext struct {
	ContainerID  string
	RestartCount int32
}

// ContainerRecreateRequestStrategy defines how containers are restarted.
type ContainerRecreateRequestStrategy struct {
	FailurePolicy                 ContainerRecreateRequestFailurePolicyType
	OrderedRecreate               bool
	ForceRecreate                 bool
	TerminationGracePeriodSeconds *int64
	UnreadyGracePeriodSeconds     *int64
	MinStartedSeconds             int32
}

// ContainerRecreateRequestStatus is the progress of a request. In v1alpha1 the last two fields are annotations.
type ContainerRecreateRequestStatus struct {
	Phase                   ContainerRecreateRequestPhase
	CompletionTime          *metav1.Time
	Message                 string
	ContainerRecreateStates []ContainerRecreateRequestContainerRecreateState
	ContainerStatusSnapshot []ContainerRecreateRequestContainerStatus
	Conditions              []metav1.Condition
}

// ContainerRecreateRequestContainerRecreateState is the progress of one container.
type ContainerRecreateRequestContainerRecreateState struct {
	Name     string
	Phase    ContainerRecreateRequestPhase
	Message  string
	IsKilled bool
}

// ContainerRecreateRequestContainerStatus is the status of a container in the Pod.
type ContainerRecreateRequestContainerStatus struct {
	Name         string
	Ready        bool
	RestartCount int32
	ContainerID  string
}
