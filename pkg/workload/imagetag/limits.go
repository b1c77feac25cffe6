package imagetag

import (
	"cmp"
	"time"

	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/delay"
)

// The limits of a pull that does not set them: the time of an attempt, and the number of further attempts.
const (
	DefaultTimeout = 10 * time.Minute
	DefaultRetries = 3
)

// Limits are the limits of one pull. The agent of the node keeps to them, and the controller of NodeImages fails a tag whose agent has
// had more time than they allow.
type Limits struct {
	// Timeout is the time limit of one attempt.
	Timeout time.Duration
	// Retries is the number of attempts after the first one.
	Retries int
	// Deadline is the time limit of all attempts together. Zero means no limit.
	Deadline time.Duration
}

// LimitsOf returns the limits that a tag sets. Values of zero or less mean the default, except for the number of retries, which may be
// zero. The defaults are a timeout of 10 minutes, 3 retries and no deadline.
func LimitsOf(tag *v1beta1.ImageTagSpec) Limits {
	limits := Limits{Timeout: DefaultTimeout, Retries: DefaultRetries}
	policy := cmp.Or(tag.PullPolicy, &v1beta1.ImageTagPullPolicy{})
	if number := ptr.Deref(policy.TimeoutSeconds, 0); number > 0 {
		limits.Timeout = delay.Seconds(int64(number))
	}
	if number := ptr.Deref(policy.BackoffLimit, -1); number >= 0 {
		limits.Retries = int(number)
	}
	if number := ptr.Deref(policy.ActiveDeadlineSeconds, 0); number > 0 {
		limits.Deadline = delay.Seconds(number)
	}
	return limits
}

// Longest returns the longest time that all attempts take, if each one is followed by the pause.
func (l Limits) Longest(pause time.Duration) time.Duration {
	return delay.Seconds((int64(l.Retries) + 1) * int64((l.Timeout+pause)/time.Second))
}
