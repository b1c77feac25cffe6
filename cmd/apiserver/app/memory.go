package app

import (
	"runtime"
	"strconv"

	"kruise.io/kruise/pkg/apiserver/store"
)

const (
	// quotaShare estimates how many bytes of memory the process needs for each byte in the store. With the default of
	// the garbage collector, small objects used about ten times their size: decoded, in the watch cache and in its
	// history. Near the memory limit the collector runs more often, so eight is enough.
	quotaShare = 8
	// smallestQuotaBytes is enough for a few thousand objects.
	smallestQuotaBytes = 64 << 20
)

// quotaFor returns the quota of an embedded store, in bytes, so that its objects fit into memory. The result is from
// smallestQuotaBytes to the default of etcd. The store raises it if it is larger already.
func quotaFor(memoryLimit int64) int64 {
	if memoryLimit == 0 {
		return store.DefaultQuotaBytes
	}
	return min(max(memoryLimit/quotaShare, smallestQuotaBytes), store.DefaultQuotaBytes)
}

// memoryUsed returns how many bytes of memory this process has had at most.
func memoryUsed() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.Sys)
}

// memoryLimit returns the memory limit of the container, or 0 if it has none.
func memoryLimit(getenv func(string) string) int64 {
	limit, err := strconv.ParseInt(getenv("MEMORY_LIMIT"), 10, 64)
	if err != nil {
		return 0
	}
	return limit
}
