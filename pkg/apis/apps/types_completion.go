package apps

// CompletionPolicyType defines whether a job finishes.
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
	Type                    CompletionPolicyType
	ActiveDeadlineSeconds   *int64
	TTLSecondsAfterFinished *int32
}
