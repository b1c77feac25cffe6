package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// FailurePolicyType defines what a job does when one of its Pods fails.
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

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BroadcastJob runs a Pod to completion on every eligible node.
type BroadcastJob struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   BroadcastJobSpec
	Status BroadcastJobStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BroadcastJobList is a list of BroadcastJobs.
type BroadcastJobList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []BroadcastJob
}

// BroadcastJobSpec defines the Pod to run on the nodes.
type BroadcastJobSpec struct {
	Parallelism      *intstr.IntOrString
	Template         corev1.PodTemplateSpec
	CompletionPolicy CompletionPolicy
	Paused           bool
	FailurePolicy    FailurePolicy
}

// FailurePolicy defines what a job does when one of its Pods fails.
type FailurePolicy struct {
	Type         FailurePolicyType
	RestartLimit int32
}

// BroadcastJobStatus is the observed state.
type BroadcastJobStatus struct {
	Conditions     []JobCondition
	StartTime      *metav1.Time
	CompletionTime *metav1.Time
	Active         int32
	Succeeded      int32
	Failed         int32
	Desired        int32
	Phase          BroadcastJobPhase
}

// JobCondition describes one aspect of the state of a job.
type JobCondition struct {
	Type               JobConditionType
	Status             corev1.ConditionStatus
	LastProbeTime      metav1.Time
	LastTransitionTime metav1.Time
	Reason             string
	Message            string
}
