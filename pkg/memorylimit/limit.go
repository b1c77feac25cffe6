// Package memorylimit keeps the heap of a program below the memory limit of its container. Enter at Apply.
package memorylimit

import (
	"fmt"
	"runtime/debug"
	"strconv"
)

const (
	// env holds the memory limit of the container in bytes. The chart sets it.
	env = "MEMORY_LIMIT"
	// heapPercent is the percentage of the limit that Go may use. The rest is for memory that Go does not count, such
	// as the mapped pages of the embedded store.
	heapPercent = 90
)

// Apply makes the garbage collector run more often near the limit, before the kernel kills the process. GOMEMLIMIT takes
// precedence. It returns the limit in bytes, or zero if the environment sets none. An invalid value is an error and not
// ignored, because the quota of the embedded store depends on it.
func Apply(getenv func(string) string) (int64, error) {
	text := getenv(env)
	if text == "" {
		return 0, nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit <= 0 {
		return 0, fmt.Errorf("environment variable %s is %q: set it to the memory limit in bytes", env, text)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 100 * heapPercent)
	}
	return limit, nil
}
