package store

import (
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// fitQuota returns the quota for a database of the size, both in bytes. If the database is larger than the quota, the
// result has 10 % more than the database. A database that fits leaves the quota as it is, so that a full store does
// not get a larger quota at each start.
func fitQuota(quota, size int64) int64 {
	if size <= quota {
		return quota
	}
	return size + size/10
}

// databaseSize returns the size of the database in bytes, as etcd compares it with the quota. It is 0 without a
// database. The size of the file would be wrong: the file grows in steps of 16 MiB. The caller holds the lock of the
// directory, and no member runs.
func databaseSize(dir string) (size int64, err error) {
	path := filepath.Join(dir, memberDir, "snap", "db")
	if _, err := os.Stat(path); err != nil {
		if os.IsNotExist(err) {
			return 0, nil
		}
		return 0, err
	}
	database, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer func() { _ = database.Close() }()
	err = database.View(func(tx *bolt.Tx) error {
		size = tx.Size()
		return nil
	})
	return size, err
}
