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
	// memoryLimitEnv holds the memory limit of the container in bytes. The chart sets it.
	memoryLimitEnv = "MEMORY_LIMIT"
	// heapPercent is the percentage of the limit that Go may use. The rest is for memory that Go does not count, such
	// as the mapped pages of the store.
	heapPercent = 90
	// quotaShare estimates how many bytes of memory the process needs for each byte in the store. With the default of
	// the garbage collector, small objects used about ten times their size: decoded, in the watch cache and in its
	// history. Near the memory limit the collector runs more often, so eight is enough.
	quotaShare = 8
	// smallestQuotaBytes is enough for a few thousand objects.
	smallestQuotaBytes = 64 << 20
)

// memoryLimit returns the memory limit of the process in bytes. It returns zero if the environment sets none. An
// invalid value is an error and not ignored, because the quota of the store depends on it.
func memoryLimit(getenv func(string) string) (int64, error) {
	text := getenv(memoryLimitEnv)
	if text == "" {
		return 0, nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit <= 0 {
		return 0, fmt.Errorf("environment variable %s is %q: set it to the memory limit in bytes", memoryLimitEnv, text)
	}
	return limit, nil
}

// limitHeap makes the garbage collector run more often near the limit, before the kernel kills the process.
// GOMEMLIMIT takes precedence.
func limitHeap(limit int64, getenv func(string) string) {
	if limit > 0 && getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 100 * heapPercent)
	}
}

// quotaFor returns the quota of an embedded store, in bytes, so that its objects fit into memory. If the store is
// already larger, it stays writable, because it has fitted into memory before. The result is from smallestQuotaBytes
// to the default of etcd.
func quotaFor(limit int64, dataDir string) int64 {
	if limit == 0 {
		return store.DefaultQuotaBytes
	}
	quota := max(limit/quotaShare, smallestQuotaBytes)
	// This is the file of the database. Twice its size leaves room for new objects.
	if info, err := os.Stat(filepath.Join(dataDir, "member", "snap", "db")); err == nil {
		quota = max(quota, 2*info.Size())
	}
	return min(quota, store.DefaultQuotaBytes)
}
