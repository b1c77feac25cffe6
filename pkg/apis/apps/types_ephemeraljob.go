package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EphemeralJobPhase says how far a job is.
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

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralJob adds ephemeral containers to running Pods, a few Pods at a time, and reports
// how they ended. Ephemeral containers stay in their Pods: deleting the job stops none.
type EphemeralJob struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   EphemeralJobSpec
	Status EphemeralJobStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralJobList is a list of EphemeralJobs.
type EphemeralJobList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []EphemeralJob
}

// EphemeralJobSpec is the containers, and the Pods that get them. The fields are explained in v1alpha1.
type EphemeralJobSpec struct {
	Selector                *metav1.LabelSelector
	Template                EphemeralContainerTemplateSpec
	Replicas                *int32
	Parallelism             *int32
	Paused                  bool
	ActiveDeadlineSeconds   *int64
	TTLSecondsAfterFinished *int32
}

// EphemeralContainerTemplateSpec is the containers that each of the Pods gets.
type EphemeralContainerTemplateSpec struct {
	EphemeralContainers []corev1.EphemeralContainer
}

// EphemeralJobStatus is what the controller observed. Its numbers count Pods.
type EphemeralJobStatus struct {
	Phase          EphemeralJobPhase
	Conditions     []EphemeralJobCondition
	StartTime      *metav1.Time
	CompletionTime *metav1.Time
	Match          int32
	Succeeded      int32
	Failed         int32
	Running        int32
	Waiting        int32
}

// EphemeralJobCondition is one observation about an EphemeralJob.
type EphemeralJobCondition struct {
	Type               EphemeralJobConditionType
	Status             corev1.ConditionStatus
	LastProbeTime      metav1.Time
	LastTransitionTime metav1.Time
	Reason             string
	Message            string
}
