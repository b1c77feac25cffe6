package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// FailurePolicyType says what a job does when a Pod of it fails.
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

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BroadcastJob runs a Pod to its end on every node where the Pod fits.
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

// BroadcastJobSpec is what is to run on the nodes, and how.
type BroadcastJobSpec struct {
	Parallelism      *intstr.IntOrString
	Template         corev1.PodTemplateSpec
	CompletionPolicy CompletionPolicy
	Paused           bool
	FailurePolicy    FailurePolicy
}

// FailurePolicy says what a job does when a Pod of it fails.
type FailurePolicy struct {
	Type         FailurePolicyType
	RestartLimit int32
}

// BroadcastJobStatus is what the controller observed.
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

// JobCondition is one observation about a job.
type JobCondition struct {
	Type               JobConditionType
	Status             corev1.ConditionStatus
	LastProbeTime      metav1.Time
	LastTransitionTime metav1.Time
	Reason             string
	Message            string
}
