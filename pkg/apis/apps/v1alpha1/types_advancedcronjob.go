package v1alpha1

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConcurrencyPolicy defines what happens when a run is due and the previous run has not finished.
// +enum
//
// The empty value means the default.
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
// +enum
type TemplateKind string

const (
	// TemplateKindJob creates Jobs of the group batch.
	TemplateKindJob TemplateKind = "Job"
	// TemplateKindBroadcastJob creates BroadcastJobs.
	TemplateKindBroadcastJob TemplateKind = "BroadcastJob"
	// TemplateKindImageListPullJob creates ImageListPullJobs.
	TemplateKindImageListPullJob TemplateKind = "ImageListPullJob"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AdvancedCronJob creates a Job or a BroadcastJob at the times of a schedule. One that
// creates ImageListPullJobs is written in v1beta1, and shown here without its template.
type AdvancedCronJob struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata. The name has at most 52 characters: the jobs' names add
	// the time to it.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the jobs and their schedule.
	// +optional
	Spec AdvancedCronJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
	// +optional
	Status AdvancedCronJobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AdvancedCronJobList is a list of AdvancedCronJobs.
type AdvancedCronJobList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of AdvancedCronJobs.
	Items []AdvancedCronJob `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// AdvancedCronJobSpec defines the jobs and their schedule.
type AdvancedCronJobSpec struct {
	// schedule is the cron schedule with five fields: minute, hour, day, month and weekday.
	// Macros such as "@hourly" and "@every 1h30m" are allowed. The schedule can start with a
	// time zone, such as "TZ=Etc/UTC 0 8 * * *", if timeZone is not set.
	Schedule string `json:"schedule" protobuf:"bytes,1,opt,name=schedule"`

	// timeZone is the time zone of the schedule, as a name in the IANA database such as
	// "Asia/Shanghai". If unset, the time zone of the controller is used.
	// +optional
	TimeZone *string `json:"timeZone,omitempty" protobuf:"bytes,2,opt,name=timeZone"`

	// startingDeadlineSeconds is the number of seconds that a run may start late. A later
	// run is skipped. If unset, the last missed run always starts.
	// +optional
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty" protobuf:"varint,3,opt,name=startingDeadlineSeconds"`

	// concurrencyPolicy defines what happens when a run is due and the previous run has not
	// finished. Allow runs both. Forbid skips the new run. Replace deletes the old run.
	// Defaults to Allow.
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty" protobuf:"bytes,4,opt,name=concurrencyPolicy,casttype=ConcurrencyPolicy"`

	// paused stops new runs. Runs that have started continue.
	// Defaults to false.
	// +optional
	// +default=false
	Paused *bool `json:"paused,omitempty" protobuf:"varint,5,opt,name=paused"`

	// successfulJobsHistoryLimit is the number of succeeded jobs to keep.
	// Defaults to 3.
	// +optional
	// +default=3
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty" protobuf:"varint,6,opt,name=successfulJobsHistoryLimit"`

	// failedJobsHistoryLimit is the number of failed jobs to keep.
	// Defaults to 1.
	// +optional
	// +default=1
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty" protobuf:"varint,7,opt,name=failedJobsHistoryLimit"`

	// template is the job that a run creates. Exactly one of its fields is set.
	Template CronJobTemplate `json:"template" protobuf:"bytes,8,opt,name=template"`
}

// CronJobTemplate is the job that a run creates. Exactly one of the fields is set.
type CronJobTemplate struct {
	// jobTemplate creates Jobs of the group batch. It cannot be changed.
	// +optional
	JobTemplate *batchv1.JobTemplateSpec `json:"jobTemplate,omitempty" protobuf:"bytes,1,opt,name=jobTemplate"`

	// broadcastJobTemplate creates BroadcastJobs. It cannot be changed.
	// +optional
	BroadcastJobTemplate *BroadcastJobTemplateSpec `json:"broadcastJobTemplate,omitempty" protobuf:"bytes,2,opt,name=broadcastJobTemplate"`
}

// BroadcastJobTemplateSpec is a BroadcastJob that a run creates.
type BroadcastJobTemplateSpec struct {
	// Labels and annotations of the BroadcastJobs.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the spec of the BroadcastJobs.
	// +optional
	Spec BroadcastJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// AdvancedCronJobStatus is the observed state.
type AdvancedCronJobStatus struct {
	// type is the kind that the template creates: Job, BroadcastJob or ImageListPullJob.
	// +optional
	Type TemplateKind `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=TemplateKind"`

	// active is the list of jobs that have not finished.
	// +optional
	// +listType=atomic
	Active []corev1.ObjectReference `json:"active,omitempty" protobuf:"bytes,2,rep,name=active"`

	// lastScheduleTime is the scheduled time of the last run that was started.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty" protobuf:"bytes,3,opt,name=lastScheduleTime"`
}
