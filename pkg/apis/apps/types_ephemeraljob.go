package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EphemeralJobPhase is the phase of a job.
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

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralJob adds ephemeral containers to running Pods, a few Pods at a time, and reports their results. Ephemeral
// containers stay in their Pods: deleting the job does not stop them.
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

// EphemeralJobSpec defines the containers and the Pods that get them. The fields are explained in v1alpha1.
type EphemeralJobSpec struct {
	Selector                *metav1.LabelSelector
	Template                EphemeralContainerTemplateSpec
	Replicas                *int32
	Parallelism             *int32
	Paused                  bool
	ActiveDeadlineSeconds   *int64
	TTLSecondsAfterFinished *int32
}

// EphemeralContainerTemplateSpec contains the ephemeral containers.
type EphemeralContainerTemplateSpec struct {
	EphemeralContainers []corev1.EphemeralContainer
}

// EphemeralJobStatus is the observed state. Its numbers count Pods.
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

// EphemeralJobCondition describes one aspect of the state of an EphemeralJob.
type EphemeralJobCondition struct {
	Type               EphemeralJobConditionType
	Status             corev1.ConditionStatus
	LastProbeTime      metav1.Time
	LastTransitionTime metav1.Time
	Reason             string
	Message            string
}
