package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EphemeralJobPhase is the phase of a job.
// +enum
type EphemeralJobPhase string

const (
	// EphemeralJobSucceeded means that the containers of all Pods succeeded.
	EphemeralJobSucceeded EphemeralJobPhase = "Succeeded"
	// EphemeralJobFailed means that the job has finished and containers failed, or that its
	// deadline passed.
	EphemeralJobFailed EphemeralJobPhase = "Failed"
	// EphemeralJobWaiting means that no Pod matches, or that no container runs yet.
	EphemeralJobWaiting EphemeralJobPhase = "Waiting"
	// EphemeralJobRunning means that containers run.
	EphemeralJobRunning EphemeralJobPhase = "Running"
	// EphemeralJobPaused means that the job does not add containers until you resume it.
	EphemeralJobPaused EphemeralJobPhase = "Paused"
	// EphemeralJobError means that the spec of the job is invalid.
	EphemeralJobError EphemeralJobPhase = "Error"
	// EphemeralJobUnknown means that the state of the containers is unknown.
	EphemeralJobUnknown EphemeralJobPhase = "Unknown"
)

// EphemeralJobConditionType is the type of a condition of an EphemeralJob.
type EphemeralJobConditionType string

const (
	// EJobInitialized means that the controller has seen the job.
	EJobInitialized EphemeralJobConditionType = "Initialized"
	// EJobMatchedEmpty means that the job matches no Pods.
	EJobMatchedEmpty EphemeralJobConditionType = "MatchedEmpty"
	// EJobSucceeded means that the job has succeeded.
	EJobSucceeded EphemeralJobConditionType = "JobSucceeded"
	// EJobFailed means that the job has failed.
	EJobFailed EphemeralJobConditionType = "JobFailed"
	// EJobError means that the spec of the job is invalid.
	EJobError EphemeralJobConditionType = "JobError"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralJob adds ephemeral containers to running Pods, a few Pods at a time, and reports their results. Ephemeral
// containers stay in their Pods: deleting the job does not stop them.
type EphemeralJob struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the containers and the Pods that get them.
	// +optional
	Spec EphemeralJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
	// +optional
	Status EphemeralJobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralJobList is a list of EphemeralJobs.
type EphemeralJobList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of EphemeralJobs.
	Items []EphemeralJob `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// EphemeralJobSpec defines the containers and the Pods that get them.
type EphemeralJobSpec struct {
	// selector selects the Pods, in the namespace of the job, by their labels. It must not
	// be empty.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,1,opt,name=selector"`

	// template contains the ephemeral containers. It cannot be changed after the job has
	// started.
	Template EphemeralContainerTemplateSpec `json:"template" protobuf:"bytes,2,opt,name=template"`

	// replicas is the maximum number of Pods that get the containers, oldest Pods first. If
	// unset, all matching Pods get them.
	// +optional
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,3,opt,name=replicas"`

	// parallelism is the maximum number of Pods that are processed at a time. If unset, the
	// value is 1.
	// +optional
	Parallelism *int32 `json:"parallelism,omitempty" protobuf:"varint,4,opt,name=parallelism"`

	// paused stops the job from adding containers to more Pods.
	// Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,5,opt,name=paused"`

	// activeDeadlineSeconds is the number of seconds after its start at which an unfinished
	// job fails. Its containers continue to run. If unset, there is no deadline.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,6,opt,name=activeDeadlineSeconds"`

	// ttlSecondsAfterFinished is the number of seconds after which a finished job is
	// deleted. If unset, the value is 1800.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,7,opt,name=ttlSecondsAfterFinished"`
}

// EphemeralContainerTemplateSpec contains the ephemeral containers.
type EphemeralContainerTemplateSpec struct {
	// ephemeralContainers are the containers to add. The job skips a Pod that already has an
	// ephemeral container with one of these names from another source.
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	EphemeralContainers []corev1.EphemeralContainer `json:"ephemeralContainers" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,1,rep,name=ephemeralContainers"`
}

// EphemeralJobStatus is the observed state. Its numbers count Pods.
type EphemeralJobStatus struct {
	// phase is Succeeded, Failed, Waiting, Running, Paused, Error or Unknown.
	// +optional
	Phase EphemeralJobPhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase,casttype=EphemeralJobPhase"`

	// conditions are the latest observed conditions. Their types are Initialized,
	// MatchedEmpty, JobSucceeded, JobFailed, JobError.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []EphemeralJobCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,2,rep,name=conditions"`

	// startTime is the time at which the job started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,3,opt,name=startTime"`

	// completionTime is the time at which the job finished.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,4,opt,name=completionTime"`

	// match is the number of Pods that the job selects.
	Match int32 `json:"match" protobuf:"varint,5,opt,name=match"`

	// succeeded is the number of Pods in which all containers succeeded.
	Succeeded int32 `json:"succeeded" protobuf:"varint,6,opt,name=succeeded"`

	// failed is the number of Pods in which a container failed.
	Failed int32 `json:"failed" protobuf:"varint,7,opt,name=failed"`

	// running is the number of Pods in which a container runs.
	Running int32 `json:"running" protobuf:"varint,8,opt,name=running"`

	// waiting is the number of Pods in which the containers have not started.
	Waiting int32 `json:"waiting" protobuf:"varint,9,opt,name=waiting"`
}

// EphemeralJobCondition describes one aspect of the state of an EphemeralJob.
type EphemeralJobCondition struct {
	// type is Initialized, MatchedEmpty, JobSucceeded, JobFailed or JobError.
	Type EphemeralJobConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=EphemeralJobConditionType"`

	// status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/api/core/v1.ConditionStatus"`

	// lastProbeTime is the last time that the condition was updated.
	// +optional
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty" protobuf:"bytes,3,opt,name=lastProbeTime"`

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
