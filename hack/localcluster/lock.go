package localcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// lock waits until no other program changes the cluster.
func (c *Cluster) lock() (unlock func(), err error) {
	if err := checkMachine(runtime.GOOS, os.Geteuid()); err != nil {
		return nil, err
	}
	return lockFile(c.lockPath())
}

// lockPath returns a path outside of the state folder, because Down removes that folder while it holds the lock.
func (c *Cluster) lockPath() string { return c.cfg.Dir + ".lock" }

// lockFile locks a file that the holder of the lock may remove. A waiting caller then has locked a deleted file, so it tries again.
func lockFile(path string) (unlock func(), err error) {
	const attempts = 10000
	for attempt := 1; ; attempt++ {
		file, err := openLock(path)
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

func openLock(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

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
