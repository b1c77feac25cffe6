package v1alpha1

// CompletionPolicyType says whether a job ends.
// +enum
//
// The empty value stands for the default.
type CompletionPolicyType string

const (
	// CompletionPolicyAlways ends the job when it has done everything.
	CompletionPolicyAlways CompletionPolicyType = "Always"
	// CompletionPolicyNever keeps the job: it goes on with what appears later.
	CompletionPolicyNever CompletionPolicyType = "Never"
)

// CompletionPolicy says when a job ends and what becomes of it.
type CompletionPolicy struct {
	// type is Always or Never. Always ends the job when it has done everything. Never keeps
	// it, so that it serves nodes that join later too.
	// Defaults to Always.
	// +optional
	// +default="Always"
	Type CompletionPolicyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=CompletionPolicyType"`

	// activeDeadlineSeconds is how long the job may take from its start. What is not done
	// by then counts as failed. Only with type Always.
	// Unset means no limit.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,2,opt,name=activeDeadlineSeconds"`

	// ttlSecondsAfterFinished is how long the job is kept after its end, then it is deleted.
	// 0 deletes it at once. Only with type Always.
	// Unset means that it is kept.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,3,opt,name=ttlSecondsAfterFinished"`
}
