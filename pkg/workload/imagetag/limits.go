package imagetag

import (
	"cmp"
	"math"
	"time"

	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

const (
	defaultTimeout = 10 * time.Minute
	defaultRetries = 3
	// mostSeconds is about 70 years. Durations of more than 292 years overflow.
	mostSeconds = math.MaxInt32
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
	limits := Limits{Timeout: defaultTimeout, Retries: defaultRetries}
	policy := cmp.Or(tag.PullPolicy, &v1beta1.ImageTagPullPolicy{})
	if number := ptr.Deref(policy.TimeoutSeconds, 0); number > 0 {
		limits.Timeout = seconds(int64(number))
	}
	if number := ptr.Deref(policy.BackoffLimit, -1); number >= 0 {
		limits.Retries = int(number)
	}
	if number := ptr.Deref(policy.ActiveDeadlineSeconds, 0); number > 0 {
		limits.Deadline = seconds(number)
	}
	return limits
}

// Longest returns the longest time that all attempts take, if each one is followed by the pause.
func (l Limits) Longest(pause time.Duration) time.Duration {
	return seconds((int64(l.Retries) + 1) * int64((l.Timeout+pause)/time.Second))
}

// seconds returns a duration that does not overflow. Users set these numbers, and any of them is allowed.
func seconds(number int64) time.Duration {
	return time.Duration(min(number, mostSeconds)) * time.Second
}
