package app

import (
	"os"
	"path/filepath"

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
