// Package delay has the rules for delays that every controller and the node agent must share: how a number of seconds in a spec becomes a
// duration, and which of two delays ends first. Enter at Seconds, or at Sooner.
package delay

import (
	"math"
	"time"
)

// mostSeconds is 68 years. Sums of a few such durations do not overflow.
const mostSeconds = math.MaxInt32

// Seconds returns a number of seconds as a duration. More than 68 years count as 68 years. Users may set any number, and without this limit
// a deadline in the far future would overflow, and be in the past.
func Seconds(number int64) time.Duration {
	return time.Duration(min(number, mostSeconds)) * time.Second
}

// Sooner returns the shorter of two delays. Zero or less means that no delay is set.
func Sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b <= 0 {
		return max(a, b, 0)
	}
	return min(a, b)
}
