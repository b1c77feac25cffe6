package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// FailurePolicyType defines what a job does when one of its Pods fails.
// +enum
//
// The empty value means the default.
type FailurePolicyType string

const (
	// FailurePolicyTypeFailFast fails the job immediately and deletes its running Pods.
	FailurePolicyTypeFailFast FailurePolicyType = "FailFast"
	// FailurePolicyTypeContinue runs the Pods of the other nodes.
	FailurePolicyTypeContinue FailurePolicyType = "Continue"
	// FailurePolicyTypePause pauses the job.
	FailurePolicyTypePause FailurePolicyType = "Pause"
)

// JobConditionType is the type of a condition of a job.
type JobConditionType string

const (
	// JobComplete means that the job has finished and did not fail.
	JobComplete JobConditionType = "Complete"
	// JobFailed means that the job has failed.
	JobFailed JobConditionType = "Failed"
	// JobSuccessCriteriaMet means that the job is Complete when its remaining Pods are deleted.
	JobSuccessCriteriaMet JobConditionType = "SuccessCriteriaMet"
	// JobFailureTarget means that the job is Failed when its remaining Pods are deleted.
	JobFailureTarget JobConditionType = "FailureTarget"
)

// BroadcastJobPhase is the phase of a BroadcastJob.
// +enum
type BroadcastJobPhase string

const (
	// BroadcastJobCompleted means that the job has finished and did not fail.
	BroadcastJobCompleted BroadcastJobPhase = "completed"
	// BroadcastJobRunning means that the job has Pods or waits for nodes.
	BroadcastJobRunning BroadcastJobPhase = "running"
	// BroadcastJobPaused means that the job creates no Pods until you resume it.
	BroadcastJobPaused BroadcastJobPhase = "paused"
	// BroadcastJobFailed means that the job has failed.
	BroadcastJobFailed BroadcastJobPhase = "failed"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BroadcastJob runs a Pod to completion on every eligible node.
type BroadcastJob struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the BroadcastJob.
	// +optional
	Spec BroadcastJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
	// +optional
	Status BroadcastJobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BroadcastJobList is a list of BroadcastJobs.
type BroadcastJobList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of BroadcastJobs.
	Items []BroadcastJob `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// BroadcastJobSpec defines the Pod to run on the nodes.
type BroadcastJobSpec struct {
	// parallelism is the maximum number of Pods that run at the same time. It is a number,
	// or a percentage of the nodes such as "10%", rounded up. 0 starts no Pods.
	// Defaults to 2147483647, which means no limit.
	// +optional
	Parallelism *intstr.IntOrString `json:"parallelism,omitempty" protobuf:"bytes,1,opt,name=parallelism"`

	// template is the Pod that runs on each node. restartPolicy is Never or OnFailure, and
	// defaults to OnFailure. The labels broadcastjob-name and broadcastjob-controller-uid
	// are reserved for the controller. A change affects only Pods created after it.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,2,opt,name=template"`

	// completionPolicy defines when the job finishes and when it is deleted.
	// +optional
	CompletionPolicy CompletionPolicy `json:"completionPolicy,omitempty" protobuf:"bytes,3,opt,name=completionPolicy"`

	// paused stops the creation of Pods. Running Pods continue. The paused time counts
	// against completionPolicy.activeDeadlineSeconds.
	// Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,4,opt,name=paused"`

	// failurePolicy defines what the job does when a Pod fails.
	// +optional
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty" protobuf:"bytes,5,opt,name=failurePolicy"`
}

// FailurePolicy defines what a job does when one of its Pods fails.
type FailurePolicy struct {
	// type is FailFast, Continue or Pause. FailFast fails the job and deletes its running
	// Pods. Continue runs the Pods of the other nodes. Pause pauses the job until you resume
	// it.
	// Defaults to FailFast.
	// +optional
	// +default="FailFast"
	Type FailurePolicyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=FailurePolicyType"`

	// restartLimit is the total number of restarts of a Pod's containers before the Pod
	// counts as failed. It has an effect only with restartPolicy OnFailure.
	// Defaults to 0.
	// +optional
	RestartLimit int32 `json:"restartLimit,omitempty" protobuf:"varint,2,opt,name=restartLimit"`
}

// BroadcastJobStatus is the observed state.
type BroadcastJobStatus struct {
	// conditions are Complete and Failed. They are set when the job finishes. Before that,
	// SuccessCriteriaMet and FailureTarget say how it will finish, while its remaining Pods
	// are deleted.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []JobCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`

	// startTime is the time at which the controller first observed the job.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,2,opt,name=startTime"`

	// completionTime is the time at which the job finished.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,3,opt,name=completionTime"`

	// active is the number of pending and running Pods.
	// +optional
	Active int32 `json:"active" protobuf:"varint,4,opt,name=active"`

	// succeeded is the number of Pods that succeeded.
	// +optional
	Succeeded int32 `json:"succeeded" protobuf:"varint,5,opt,name=succeeded"`

	// failed is the number of Pods that failed.
	// +optional
	Failed int32 `json:"failed" protobuf:"varint,6,opt,name=failed"`

	// desired is the number of nodes that must run the Pod.
	// +optional
	Desired int32 `json:"desired" protobuf:"varint,7,opt,name=desired"`

	// phase is the phase of the job: running, paused, completed or failed.
	// +optional
	Phase BroadcastJobPhase `json:"phase" protobuf:"bytes,8,opt,name=phase,casttype=BroadcastJobPhase"`
}

// JobCondition describes one aspect of the state of a job.
type JobCondition struct {
	// type is Complete, Failed, SuccessCriteriaMet or FailureTarget.
	Type JobConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=JobConditionType"`

	// status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/api/core/v1.ConditionStatus"`

	// lastProbeTime is the last time that the condition was checked.
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
