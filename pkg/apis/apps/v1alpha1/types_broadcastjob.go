package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// FailurePolicyType says what a job does when a Pod of it fails.
// +enum
//
// The empty value stands for the default.
type FailurePolicyType string

const (
	// FailurePolicyTypeFailFast fails the job at once, and deletes the Pods that still run.
	FailurePolicyTypeFailFast FailurePolicyType = "FailFast"
	// FailurePolicyTypeContinue goes on with the other nodes.
	FailurePolicyTypeContinue FailurePolicyType = "Continue"
	// FailurePolicyTypePause pauses the job.
	FailurePolicyTypePause FailurePolicyType = "Pause"
)

// JobConditionType is the type of a condition of a job.
type JobConditionType string

const (
	// JobComplete says that the job has ended and did not fail.
	JobComplete JobConditionType = "Complete"
	// JobFailed says that the job has failed.
	JobFailed JobConditionType = "Failed"
)

// BroadcastJobPhase is the state of a BroadcastJob as a word.
// +enum
type BroadcastJobPhase string

const (
	// BroadcastJobCompleted has ended and did not fail.
	BroadcastJobCompleted BroadcastJobPhase = "completed"
	// BroadcastJobRunning has Pods, or waits for nodes.
	BroadcastJobRunning BroadcastJobPhase = "running"
	// BroadcastJobPaused creates no more Pods until it is resumed.
	BroadcastJobPaused BroadcastJobPhase = "paused"
	// BroadcastJobFailed has failed.
	BroadcastJobFailed BroadcastJobPhase = "failed"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BroadcastJob runs a Pod to its end on every node where the Pod fits.
type BroadcastJob struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what is to run, and how.
	// +optional
	Spec BroadcastJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller observed last. It may lag behind.
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

// BroadcastJobSpec is what is to run on the nodes, and how.
type BroadcastJobSpec struct {
	// parallelism is how many Pods may run at once. A number, or a percentage of the nodes,
	// rounded up, like "10%". 0 starts none.
	// Defaults to 2147483647, which is no limit.
	// +optional
	Parallelism *intstr.IntOrString `json:"parallelism,omitempty" protobuf:"bytes,1,opt,name=parallelism"`

	// template is the Pod that runs on each node. restartPolicy is Never or OnFailure, and
	// defaults to OnFailure. The labels broadcastjob-name and broadcastjob-controller-uid
	// are the controller's. A change affects only Pods created after it.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,2,opt,name=template"`

	// completionPolicy says when the job ends and what becomes of it.
	// +optional
	CompletionPolicy CompletionPolicy `json:"completionPolicy,omitempty" protobuf:"bytes,3,opt,name=completionPolicy"`

	// paused creates no more Pods. Those that run go on. The time counts against
	// completionPolicy.activeDeadlineSeconds.
	// Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,4,opt,name=paused"`

	// failurePolicy says what the job does when a Pod fails.
	// +optional
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty" protobuf:"bytes,5,opt,name=failurePolicy"`
}

// FailurePolicy says what a job does when a Pod of it fails.
type FailurePolicy struct {
	// type is FailFast, Continue or Pause. FailFast fails the job and deletes the Pods that
	// still run. Continue goes on with the other nodes. Pause waits for you.
	// Defaults to FailFast.
	// +optional
	// +default="FailFast"
	Type FailurePolicyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=FailurePolicyType"`

	// restartLimit is how often the containers of a Pod may restart, all together, before
	// the Pod counts as failed. It has an effect only with restartPolicy OnFailure.
	// Defaults to 0.
	// +optional
	RestartLimit int32 `json:"restartLimit,omitempty" protobuf:"varint,2,opt,name=restartLimit"`
}

// BroadcastJobStatus is what the controller observed.
type BroadcastJobStatus struct {
	// conditions are Complete and Failed, once the job has ended.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []JobCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`

	// startTime is when the controller saw the job first.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,2,opt,name=startTime"`

	// completionTime is when the job ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,3,opt,name=completionTime"`

	// active is the number of Pods that run or wait to run.
	// +optional
	Active int32 `json:"active" protobuf:"varint,4,opt,name=active"`

	// succeeded is the number of Pods that succeeded.
	// +optional
	Succeeded int32 `json:"succeeded" protobuf:"varint,5,opt,name=succeeded"`

	// failed is the number of Pods that failed.
	// +optional
	Failed int32 `json:"failed" protobuf:"varint,6,opt,name=failed"`

	// desired is the number of nodes on which the Pod is to run.
	// +optional
	Desired int32 `json:"desired" protobuf:"varint,7,opt,name=desired"`

	// phase is running, paused, completed or failed.
	// +optional
	Phase BroadcastJobPhase `json:"phase,omitempty" protobuf:"bytes,8,opt,name=phase,casttype=BroadcastJobPhase"`
}

// JobCondition is one observation about a job.
type JobCondition struct {
	// type is Complete or Failed.
	Type JobConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=JobConditionType"`

	// status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/api/core/v1.ConditionStatus"`

	// lastProbeTime is when the observation was last checked.
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
