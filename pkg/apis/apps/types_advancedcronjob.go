package apps

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConcurrencyPolicy defines what happens when a run is due and the previous run has not finished.
type ConcurrencyPolicy string

const (
	// AllowConcurrent lets runs overlap.
	AllowConcurrent ConcurrencyPolicy = "Allow"
	// ForbidConcurrent skips the new run.
	ForbidConcurrent ConcurrencyPolicy = "Forbid"
	// ReplaceConcurrent deletes the unfinished run and starts the new one.
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

// TemplateKind is the kind that an AdvancedCronJob creates.
type TemplateKind string

const (
	// TemplateKindJob creates Jobs of the group batch.
	TemplateKindJob TemplateKind = "Job"
	// TemplateKindBroadcastJob creates BroadcastJobs.
	TemplateKindBroadcastJob TemplateKind = "BroadcastJob"
	// TemplateKindImageListPullJob creates ImageListPullJobs.
	TemplateKindImageListPullJob TemplateKind = "ImageListPullJob"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AdvancedCronJob creates a Job, a BroadcastJob or an ImageListPullJob at the times of a
// schedule.
type AdvancedCronJob struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   AdvancedCronJobSpec
	Status AdvancedCronJobStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AdvancedCronJobList is a list of AdvancedCronJobs.
type AdvancedCronJobList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []AdvancedCronJob
}

// AdvancedCronJobSpec defines the jobs and their schedule.
type AdvancedCronJobSpec struct {
	Schedule                   string
	TimeZone                   *string
	StartingDeadlineSeconds    *int64
	ConcurrencyPolicy          ConcurrencyPolicy
	Paused                     *bool
	SuccessfulJobsHistoryLimit *int32
	FailedJobsHistoryLimit     *int32
	Template                   CronJobTemplate
}

// CronJobTemplate is the job that a run creates. Exactly one of the fields is set.
type CronJobTemplate struct {
	JobTemplate              *batchv1.JobTemplateSpec
	BroadcastJobTemplate     *BroadcastJobTemplateSpec
	ImageListPullJobTemplate *ImageListPullJobTemplateSpec
}

// BroadcastJobTemplateSpec is a BroadcastJob that a run creates.
type BroadcastJobTemplateSpec struct {
	metav1.ObjectMeta

	Spec BroadcastJobSpec
}

// ImageListPullJobTemplateSpec is an ImageListPullJob that a run creates.
type ImageListPullJobTemplateSpec struct {
	metav1.ObjectMeta

	Spec ImageListPullJobSpec
}

// AdvancedCronJobStatus is the observed state.
type AdvancedCronJobStatus struct {
	Type             TemplateKind
	Active           []corev1.ObjectReference
	LastScheduleTime *metav1.Time
}
