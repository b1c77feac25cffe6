package v1alpha1

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConcurrencyPolicy says what happens when a run is due while another has not ended.
// +enum
//
// The empty value stands for the default.
type ConcurrencyPolicy string

const (
	// AllowConcurrent lets runs overlap.
	AllowConcurrent ConcurrencyPolicy = "Allow"
	// ForbidConcurrent skips the new run.
	ForbidConcurrent ConcurrencyPolicy = "Forbid"
	// ReplaceConcurrent deletes the run that has not ended and starts the new one.
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

	// spec is what is to run, and when.
	// +optional
	Spec AdvancedCronJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller observed last. It may lag behind.
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

// AdvancedCronJobSpec is what is to run, and when.
type AdvancedCronJobSpec struct {
	// schedule is when runs are due, in the five fields of cron: minute, hour, day, month,
	// weekday. Or "@hourly" and the like, or "@every 1h30m". It may begin
	// with a time zone, like "TZ=Etc/UTC 0 8 * * *", unless timeZone is set.
	Schedule string `json:"schedule" protobuf:"bytes,1,opt,name=schedule"`

	// timeZone is the time zone of the schedule, by its name in the IANA database, like
	// "Asia/Shanghai".
	// Unset means the zone of the controller's machine.
	// +optional
	TimeZone *string `json:"timeZone,omitempty" protobuf:"bytes,2,opt,name=timeZone"`

	// startingDeadlineSeconds is how late a run may start. One that is later is skipped.
	// Unset means that the last one missed always starts.
	// +optional
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty" protobuf:"varint,3,opt,name=startingDeadlineSeconds"`

	// concurrencyPolicy is Allow, Forbid or Replace: what happens when a run is due while
	// another has not ended. Allow lets them overlap. Forbid skips the new one. Replace
	// deletes the old one.
	// Defaults to Allow.
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty" protobuf:"bytes,4,opt,name=concurrencyPolicy,casttype=ConcurrencyPolicy"`

	// paused starts no runs. Those that have started go on.
	// Defaults to false.
	// +optional
	// +default=false
	Paused *bool `json:"paused,omitempty" protobuf:"varint,5,opt,name=paused"`

	// successfulJobsHistoryLimit is how many jobs that succeeded are kept.
	// Defaults to 3.
	// +optional
	// +default=3
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty" protobuf:"varint,6,opt,name=successfulJobsHistoryLimit"`

	// failedJobsHistoryLimit is how many jobs that failed are kept.
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

// AdvancedCronJobStatus is what the controller observed.
type AdvancedCronJobStatus struct {
	// type is Job, BroadcastJob or ImageListPullJob: what the template creates.
	// +optional
	Type TemplateKind `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=TemplateKind"`

	// active are the jobs that have not ended.
	// +optional
	// +listType=atomic
	Active []corev1.ObjectReference `json:"active,omitempty" protobuf:"bytes,2,rep,name=active"`

	// lastScheduleTime is when the last run was due that was started.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty" protobuf:"bytes,3,opt,name=lastScheduleTime"`
}
