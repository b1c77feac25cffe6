package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// prepareDir creates the directory for its owner alone and returns its absolute path.
func prepareDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve --data-dir %q: %w", dir, err)
	}
	if n := len(filepath.Join(abs, clientSocket)); n > maxSocketPath {
		return "", fmt.Errorf("--data-dir %q is too long: its socket's path would have %d bytes, the limit is %d; choose a shorter directory",
			abs, n, maxSocketPath)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", fmt.Errorf("create --data-dir %q: %w", abs, err)
	}
	// A volume comes with a mode of its own. Where its owner is another user (fsGroup), the
	// socket's own mode has to do.
	if err := os.Chmod(abs, 0o700); err != nil && !errors.Is(err, os.ErrPermission) { //nolint:gosec // a directory needs its x bit
		return "", fmt.Errorf("set the mode of --data-dir %q: %w", abs, err)
	}
	return abs, nil
}

// lockDir takes the directory for this process. etcd itself would first remove the other
// process's sockets and then wait for its database without a word.
func lockDir(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of --data-dir %q: %w", dir, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("--data-dir %q is in use by another kruise-apiserver; stop that one or choose another directory", dir)
		}
		return nil, fmt.Errorf("lock --data-dir %q: %w", dir, err)
	}
	return lock, nil
}
