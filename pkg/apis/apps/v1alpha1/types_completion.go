package v1alpha1

// CompletionPolicyType defines whether a job finishes.
// +enum
//
// The empty value means the default.
type CompletionPolicyType string

const (
	// CompletionPolicyAlways finishes the job when all work is done.
	CompletionPolicyAlways CompletionPolicyType = "Always"
	// CompletionPolicyNever never finishes the job, so that it also serves nodes that join
	// later.
	CompletionPolicyNever CompletionPolicyType = "Never"
)

// CompletionPolicy defines when a job finishes and when it is deleted.
type CompletionPolicy struct {
	// type is Always or Never. With Always, the job finishes when all work is done. With
	// Never, the job does not finish, and also serves nodes that join later.
	// Defaults to Always.
	// +optional
	// +default="Always"
	Type CompletionPolicyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=CompletionPolicyType"`

	// activeDeadlineSeconds is the number of seconds that the job can be active. Work that
	// is not done by then counts as failed. Allowed only with type Always. If unset, there
	// is no limit.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,2,opt,name=activeDeadlineSeconds"`

	// ttlSecondsAfterFinished is the number of seconds after which a finished job is
	// deleted. 0 deletes it immediately. Allowed only with type Always. If unset, the job is
	// not deleted.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,3,opt,name=ttlSecondsAfterFinished"`
}
