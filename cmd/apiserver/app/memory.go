package app

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"kruise.io/kruise/pkg/apiserver/store"
)

const (
	// memoryLimitEnv is the container's memory limit in bytes. The chart sets it.
	memoryLimitEnv = "MEMORY_LIMIT"
	// heapPercent of it is what Go may use: the rest is for what Go does not count, the pages of the store among them.
	heapPercent = 90
	// quotaShare is how much more memory than space a store takes, as an estimate: small objects took about ten times their size
	// with the garbage collector's default, decoded, in the watch cache and its history. Near the limit it collects more often.
	quotaShare = 8
	// smallestQuotaBytes is enough for a few thousand objects.
	smallestQuotaBytes = 64 << 20
)

// memoryLimit is how many bytes this process may take, or zero where nobody says.
func memoryLimit(getenv func(string) string) (int64, error) {
	text := getenv(memoryLimitEnv)
	if text == "" {
		return 0, nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit <= 0 {
		return 0, fmt.Errorf("environment variable %s is %q: give the memory limit in bytes", memoryLimitEnv, text)
	}
	return limit, nil
}

// limitHeap lets the garbage collector work harder before the kernel ends the process. GOMEMLIMIT wins.
func limitHeap(limit int64, getenv func(string) string) {
	if limit > 0 && getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 100 * heapPercent)
	}
}

// quotaFor is the quota of an embedded store whose objects fit into memory. A store that is larger already stays writable: it was
// loaded before.
func quotaFor(limit int64, dataDir string) int64 {
	if limit == 0 {
		return store.DefaultQuotaBytes
	}
	quota := max(limit/quotaShare, smallestQuotaBytes)
	if info, err := os.Stat(filepath.Join(dataDir, "member", "snap", "db")); err == nil {
		quota = max(quota, 2*info.Size())
	}
	return min(quota, store.DefaultQuotaBytes)
}
