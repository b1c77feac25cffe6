package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// lockPoll is how often a lock that another program holds is tried again.
const lockPoll = 20 * time.Millisecond

// lock waits until no other program changes the cluster.
func (c *Cluster) lock(ctx context.Context) (unlock func(), err error) {
	if err := checkMachine(runtime.GOOS, os.Geteuid()); err != nil {
		return nil, err
	}
	return lockFile(ctx, c.lockPath())
}

// lockPath returns a path outside of the state folder, because Down removes that folder while it holds the lock.
func (c *Cluster) lockPath() string { return c.cfg.Dir + ".lock" }

// lockFile locks a file that the holder of the lock may remove. A waiting caller then has locked a deleted file, so it tries again. It
// gives up when ctx ends.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	// A file is replaced only when a cluster ends. More attempts than this mean another problem.
	const attempts = 10000
	for attempt := 1; ; attempt++ {
		file, err := openLock(ctx, path)
		if attempt < attempts && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist)) {
			continue // Another process has removed the folder or the file.
		}
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if isFile(file, path) {
			return func() { _ = file.Close() }, nil
		}
		if err := file.Close(); err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// openLock creates the file if necessary and locks it.
func openLock(ctx context.Context, path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(err, file.Close())
		}
		select { // A call that waits would not end with ctx.
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), file.Close())
		case <-time.After(lockPoll):
		}
	}
}

// isFile returns true if the open file is still the one at the path.
func isFile(file *os.File, path string) bool {
	held, err := file.Stat()
	current, currentErr := os.Stat(path)
	return err == nil && currentErr == nil && os.SameFile(held, current)
}

// removeLock removes the lock file while it is locked. A waiting caller can then take a new lock, so this must be the
// last step. removeLock also removes the empty parent folders within .local of the checkout.
func (c *Cluster) removeLock() error {
	if err := os.Remove(c.lockPath()); err != nil {
		return fmt.Errorf("remove lock: %w", err)
	}
	local := filepath.Join(c.cfg.ModuleRoot, ".local")
	for dir := filepath.Dir(c.lockPath()); strings.HasPrefix(dir+"/", local+"/"); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return nil //nolint:nilerr // It holds something else.
		}
	}
	return nil
}
