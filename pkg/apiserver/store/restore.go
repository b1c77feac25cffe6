package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

const (
	// memberDir is the directory in which etcd keeps its data, below the data directory.
	memberDir = "member"
	// restoredDir holds a complete restored member. The next start uses it. preparedDir holds one that is not complete yet.
	restoredDir, preparedDir = "restored", "restored.incomplete"
	// replacedDir keeps the data that the last restore replaced.
	replacedDir = "replaced"
	// restoreLock excludes two restores at a time.
	restoreLock = "restore.lock"
	// stagedPeriod is how often a running server looks for a restored member.
	stagedPeriod = time.Second
)

// ErrRestored means that the data directory holds a restored store, which the next start uses.
var ErrRestored = errors.New("the store was restored from a snapshot, restarting with it")

// Restored describes a restored store.
type Restored struct {
	// Keys is the number of keys in the snapshot, and Bytes its size.
	Keys  int
	Bytes int64
	// Revision is the revision of etcd at which the restored store starts.
	Revision int64
}

// RestoreConfig configures Restore.
type RestoreConfig struct {
	// After is the last known revision of the store that is replaced. The revision of the restored store is by Margin higher than
	// that of the snapshot and than After, because clients compare revisions.
	After, Margin int64
	// UnknownMargin replaces Margin if After is lower than the revision of the snapshot. After is then not the last revision of the
	// store that the snapshot is of, which is not known. Zero means Margin.
	UnknownMargin int64
	// Finish changes the restored store in its temporary directory, before a start can use it. It may be nil.
	Finish func(ctx context.Context, dir string) error
}

// Restore prepares the directory so that the next start uses the content of a snapshot. A running member is not
// disturbed. The result appears by one rename, so a restore that is interrupted leaves no partial result. A result of
// an earlier restore that no start has used yet is replaced.
func Restore(ctx context.Context, dir string, from io.Reader, config RestoreConfig) (Restored, error) {
	dir, err := prepareDir(dir)
	if err != nil {
		return Restored{}, err
	}
	// This is not the lock of the member, which a running server holds.
	lock, err := os.OpenFile(filepath.Join(dir, restoreLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return Restored{}, fmt.Errorf("open the lock of restores: %w", err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return Restored{}, fmt.Errorf("another restore to --data-dir %q is running: %w", dir, err)
	}
	prepared := filepath.Join(dir, preparedDir)
	if err := os.RemoveAll(prepared); err != nil {
		return Restored{}, fmt.Errorf("remove an incomplete restore: %w", err)
	}
	defer func() { _ = os.RemoveAll(prepared) }()
	if err := os.Mkdir(prepared, 0o700); err != nil {
		return Restored{}, fmt.Errorf("create the directory of the restore: %w", err)
	}
	restored, err := prepareMember(ctx, prepared, from, config)
	if err != nil {
		return Restored{}, err
	}
	// A failure here leaves the directory as it was.
	if config.Finish != nil {
		if err := config.Finish(ctx, filepath.Join(prepared, "data")); err != nil {
			return Restored{}, err
		}
	}
	target := filepath.Join(dir, restoredDir)
	if err := os.RemoveAll(target); err != nil {
		return Restored{}, fmt.Errorf("remove an older restore: %w", err)
	}
	if err := os.Rename(filepath.Join(prepared, "data"), target); err != nil {
		return Restored{}, fmt.Errorf("complete the restore: %w", err)
	}
	return restored, syncDir(dir)
}

// prepareMember creates the data of a member from a snapshot. It checks the snapshot before it uses it. The name and
// the URL must be those of memberConfig, because etcd stores them in the data. Older revisions are marked as
// compacted, so clients that know one of them list again.
func prepareMember(ctx context.Context, dir string, from io.Reader, config RestoreConfig) (Restored, error) {
	file := filepath.Join(dir, "snapshot.db")
	if err := writeFile(ctx, file, from); err != nil {
		return Restored{}, fmt.Errorf("read the snapshot: %w", err)
	}
	manager := snapshot.NewV3(zap.NewNop())
	status, err := manager.Status(file)
	if err != nil {
		return Restored{}, fmt.Errorf("the snapshot is damaged or not a snapshot of etcd: %w", err)
	}
	// After is zero if the replaced store is not known; the snapshot then counts alone.
	margin := config.Margin
	if config.After < status.Revision && config.UnknownMargin > 0 {
		margin = config.UnknownMargin
	}
	bump := max(config.After-status.Revision, 0) + margin
	err = manager.Restore(snapshot.RestoreConfig{
		SnapshotPath: file, OutputDataDir: filepath.Join(dir, "data"),
		Name: memberName, PeerURLs: []string{advertised}, InitialCluster: memberName + "=" + advertised, InitialClusterToken: "etcd-cluster",
		RevisionBump: uint64(bump), MarkCompacted: true,
	})
	if err != nil {
		return Restored{}, fmt.Errorf("restore the snapshot: %w", err)
	}
	return Restored{Keys: status.TotalKey, Bytes: status.TotalSize, Revision: status.Revision + bump}, nil
}

// writeFile writes the content to a new file and syncs it, so that a later rename never shows an empty file after a
// crash.
func writeFile(ctx context.Context, path string, from io.Reader) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if err == nil {
		err = ctx.Err()
	}
	return errors.Join(err, file.Sync(), file.Close())
}

// syncDir writes the entries of the directory to the disk, which makes a rename durable.
func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("write --data-dir %q to the disk: %w", dir, err)
	}
	return errors.Join(file.Sync(), file.Close())
}

// adoptRestored puts a restored member in the place of the current one, which it keeps. The caller holds the lock of
// the directory. If the process ends in the middle, the next start continues: between the two renames there is no
// current member, and the restored one is still there.
func adoptRestored(ctx context.Context, dir string) error {
	current, replaced := filepath.Join(dir, memberDir), filepath.Join(dir, replacedDir)
	restored := filepath.Join(dir, restoredDir)
	// Without a member in it, the directory is what the last steps of an earlier call left.
	if !exists(filepath.Join(restored, memberDir)) {
		return os.RemoveAll(restored)
	}
	if exists(current) {
		if err := os.RemoveAll(replaced); err != nil {
			return err
		}
		if err := os.Rename(current, replaced); err != nil {
			return err
		}
	}
	if err := os.Rename(filepath.Join(restored, memberDir), current); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Using the restored store, the previous data is kept", "dir", dir, "previous", replaced)
	return errors.Join(os.RemoveAll(restored), syncDir(dir))
}

// exists returns true if the path can be read. Any error counts as missing.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Exists returns true if the directory holds a store, or a restored one that no start has used yet.
func Exists(dir string) bool {
	return exists(filepath.Join(dir, memberDir)) || exists(filepath.Join(dir, restoredDir))
}

// WaitForRestore returns ErrRestored when the directory holds a restored store that this member does not use. It
// returns nil when ctx ends. It polls, because a restore is a separate process and the directory may be of any file
// system.
func (e *Embedded) WaitForRestore(ctx context.Context) error {
	for !exists(filepath.Join(e.dir, restoredDir)) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(stagedPeriod):
		}
	}
	return ErrRestored
}
