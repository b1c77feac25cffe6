package apps

// CompletionPolicyType says whether a job ends.
type CompletionPolicyType string

const (
	// CompletionPolicyAlways ends the job when it has done everything.
	CompletionPolicyAlways CompletionPolicyType = "Always"
	// CompletionPolicyNever keeps the job: it goes on with what appears later.
	CompletionPolicyNever CompletionPolicyType = "Never"
)

// CompletionPolicy says when a job ends and what becomes of it.
type CompletionPolicy struct {
	Type                    CompletionPolicyType
	ActiveDeadlineSeconds   *int64
	TTLSecondsAfterFinished *int32
}
