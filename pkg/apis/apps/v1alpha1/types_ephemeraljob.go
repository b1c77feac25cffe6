package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EphemeralJobPhase says how far a job is.
// +enum
type EphemeralJobPhase string

const (
	// EphemeralJobSucceeded says that the containers of all Pods ended well.
	EphemeralJobSucceeded EphemeralJobPhase = "Succeeded"
	// EphemeralJobFailed says that the job is over and that containers failed, or that its deadline passed.
	EphemeralJobFailed EphemeralJobPhase = "Failed"
	// EphemeralJobWaiting says that there are no Pods, or that no container runs yet.
	EphemeralJobWaiting EphemeralJobPhase = "Waiting"
	// EphemeralJobRunning says that containers run.
	EphemeralJobRunning EphemeralJobPhase = "Running"
	// EphemeralJobPaused says that the job injects no more containers for now.
	EphemeralJobPaused EphemeralJobPhase = "Paused"
	// EphemeralJobError says that the job cannot run as it is written.
	EphemeralJobError EphemeralJobPhase = "Error"
	// EphemeralJobUnknown says that the state of the containers is not known.
	EphemeralJobUnknown EphemeralJobPhase = "Unknown"
)

// EphemeralJobConditionType is the type of a condition of an EphemeralJob.
type EphemeralJobConditionType string

const (
	// EJobInitialized says that the controller has seen the job.
	EJobInitialized EphemeralJobConditionType = "Initialized"
	// EJobMatchedEmpty says that the job matches no Pods.
	EJobMatchedEmpty EphemeralJobConditionType = "MatchedEmpty"
	// EJobSucceeded says that the job is over and succeeded.
	EJobSucceeded EphemeralJobConditionType = "JobSucceeded"
	// EJobFailed says that the job is over and failed.
	EJobFailed EphemeralJobConditionType = "JobFailed"
	// EJobError says that the job cannot run as it is written.
	EJobError EphemeralJobConditionType = "JobError"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralJob adds ephemeral containers to running Pods, a few Pods at a time, and reports
// how they ended. Ephemeral containers stay in their Pods: deleting the job stops none.
type EphemeralJob struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the containers, and the Pods that get them.
	// +optional
	Spec EphemeralJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller observed last. It may lag behind.
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

// EphemeralJobSpec is the containers, and the Pods that get them.
type EphemeralJobSpec struct {
	// selector selects the Pods, in the namespace of the job, by their labels. It must not
	// be empty.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,1,opt,name=selector"`

	// template is the containers that each of the Pods gets. It cannot be changed once the
	// job has started.
	Template EphemeralContainerTemplateSpec `json:"template" protobuf:"bytes,2,opt,name=template"`

	// replicas is how many Pods get the containers at most, the oldest first.
	// Unset means all that match.
	// +optional
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,3,opt,name=replicas"`

	// parallelism is how many Pods are worked on at a time.
	// Unset means 1.
	// +optional
	Parallelism *int32 `json:"parallelism,omitempty" protobuf:"varint,4,opt,name=parallelism"`

	// paused stops the job from adding containers to more Pods.
	// Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,5,opt,name=paused"`

	// activeDeadlineSeconds is how long after its start the job fails if it is not over.
	// Its containers run on. Unset means no deadline.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,6,opt,name=activeDeadlineSeconds"`

	// ttlSecondsAfterFinished is how long after its end the job is deleted.
	// Unset means 1800.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,7,opt,name=ttlSecondsAfterFinished"`
}

// EphemeralContainerTemplateSpec is the containers that each of the Pods gets.
type EphemeralContainerTemplateSpec struct {
	// ephemeralContainers are the containers. A Pod that already has an ephemeral container
	// of one of their names, from elsewhere, is left out.
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	EphemeralContainers []corev1.EphemeralContainer `json:"ephemeralContainers" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,1,rep,name=ephemeralContainers"`
}

// EphemeralJobStatus is what the controller observed. Its numbers count Pods.
type EphemeralJobStatus struct {
	// phase is Succeeded, Failed, Waiting, Running, Paused, Error or Unknown.
	// +optional
	Phase EphemeralJobPhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase,casttype=EphemeralJobPhase"`

	// conditions are the latest observations: Initialized, MatchedEmpty, JobSucceeded,
	// JobFailed, JobError.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []EphemeralJobCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,2,rep,name=conditions"`

	// startTime is when the job started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,3,opt,name=startTime"`

	// completionTime is when the job was over.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,4,opt,name=completionTime"`

	// match is how many Pods the job is for.
	Match int32 `json:"match" protobuf:"varint,5,opt,name=match"`

	// succeeded is in how many Pods all containers ended well.
	Succeeded int32 `json:"succeeded" protobuf:"varint,6,opt,name=succeeded"`

	// failed is in how many Pods a container failed.
	Failed int32 `json:"failed" protobuf:"varint,7,opt,name=failed"`

	// running is in how many Pods a container runs.
	Running int32 `json:"running" protobuf:"varint,8,opt,name=running"`

	// waiting is in how many Pods the containers have yet to start.
	Waiting int32 `json:"waiting" protobuf:"varint,9,opt,name=waiting"`
}

// EphemeralJobCondition is one observation about an EphemeralJob.
type EphemeralJobCondition struct {
	// type is Initialized, MatchedEmpty, JobSucceeded, JobFailed or JobError.
	Type EphemeralJobConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=EphemeralJobConditionType"`

	// status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/api/core/v1.ConditionStatus"`

	// lastProbeTime is when the observation was last renewed.
	// +optional
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty" protobuf:"bytes,3,opt,name=lastProbeTime"`

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
