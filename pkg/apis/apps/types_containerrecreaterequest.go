package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContainerRecreateRequestFailurePolicyType says what one container that could not be stopped
// does to the others.
type ContainerRecreateRequestFailurePolicyType string

const (
	// FailContainerRecreateRequestFailurePolicy ends the request.
	FailContainerRecreateRequestFailurePolicy ContainerRecreateRequestFailurePolicyType = "Fail"
	// IgnoreContainerRecreateRequestFailurePolicy goes on with the other containers.
	IgnoreContainerRecreateRequestFailurePolicy ContainerRecreateRequestFailurePolicyType = "Ignore"
)

// ContainerRecreateRequestPhase is how far a request, or one of its containers, has come.
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

// ContainerRecreateRequestSpec says which containers to restart, and how. The fields are explained
// in v1beta1.
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

// ContainerRecreateRequestStrategy says how containers are restarted.
type ContainerRecreateRequestStrategy struct {
	FailurePolicy                 ContainerRecreateRequestFailurePolicyType
	OrderedRecreate               bool
	ForceRecreate                 bool
	TerminationGracePeriodSeconds *int64
	UnreadyGracePeriodSeconds     *int64
	MinStartedSeconds             int32
}

// ContainerRecreateRequestStatus is how far a request has come. In v1alpha1 the last two fields
// are annotations.
type ContainerRecreateRequestStatus struct {
	Phase                   ContainerRecreateRequestPhase
	CompletionTime          *metav1.Time
	Message                 string
	ContainerRecreateStates []ContainerRecreateRequestContainerRecreateState
	ContainerStatusSnapshot []ContainerRecreateRequestContainerStatus
	Conditions              []metav1.Condition
}

// ContainerRecreateRequestContainerRecreateState is how far a container has come.
type ContainerRecreateRequestContainerRecreateState struct {
	Name     string
	Phase    ContainerRecreateRequestPhase
	Message  string
	IsKilled bool
}

// ContainerRecreateRequestContainerStatus is what the Pod says about a container.
type ContainerRecreateRequestContainerStatus struct {
	Name         string
	Ready        bool
	RestartCount int32
	ContainerID  string
}
