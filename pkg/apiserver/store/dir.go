package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

const (
	// lockRetry is the delay between two attempts to lock the directory.
	lockRetry = 100 * time.Millisecond
	// lockReminder is how often the log repeats that the process waits for the lock.
	lockReminder = 10 * time.Second
)

// ErrInUse is the error of Start if another process does not release the directory in time.
var ErrInUse = errors.New("is in use by another kruise-apiserver; stop that one or choose another directory")

// prepareDir creates the directory with access for its owner only. It returns the absolute path. It checks the length
// of the socket's path before it creates anything.
func prepareDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve --data-dir %q: %w", dir, err)
	}
	if n := len(newSockets(abs).client); n > maxSocketPath {
		return "", fmt.Errorf("--data-dir %q is too long: its socket's path would have %d bytes, the limit is %d; choose a shorter directory",
			abs, n, maxSocketPath)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", fmt.Errorf("create --data-dir %q: %w", abs, err)
	}
	// A mounted volume has its own mode. If another user owns it (fsGroup), chmod fails, and the mode of the socket
	// has to protect the store.
	if err := os.Chmod(abs, 0o700); err != nil && !errors.Is(err, os.ErrPermission) { //nolint:gosec // a directory needs its x bit
		return "", fmt.Errorf("set the mode of --data-dir %q: %w", abs, err)
	}
	return abs, nil
}

// sockets are the paths of a member's sockets: client for gRPC, http for HTTP.
type sockets struct{ client, http string }

// newSockets returns paths that no other process uses. A member removes its sockets by their paths when it stops. A member whose
// files were moved away while it ran would otherwise remove the sockets of its successor.
func newSockets(dir string) sockets {
	suffix := fmt.Sprintf("-%08x.sock", rand.Uint32()) //nolint:gosec // The name is no secret.
	return sockets{client: filepath.Join(dir, "client"+suffix), http: filepath.Join(dir, "http"+suffix)}
}

// Running returns the endpoint of the member that runs in the directory, or an empty string if none does. It connects
// to each socket, because the file of a killed member stays. It does not take the lock of the directory.
func Running(ctx context.Context, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve --data-dir %q: %w", dir, err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "client-*.sock"))
	if err != nil {
		return "", fmt.Errorf("find the socket of the store in %s: %w", dir, err)
	}
	for _, path := range found {
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err != nil {
			continue // A killed member left it.
		}
		_ = connection.Close()
		return "unix://" + path, nil
	}
	return "", nil
}

// removeSockets removes the sockets of killed members. The caller holds the lock of the directory, so no other member
// uses one.
func removeSockets(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		return fmt.Errorf("find old sockets in %s: %w", dir, err)
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove an old socket: %w", err)
		}
	}
	return nil
}

// lockDir locks the directory for this process. Without this lock, etcd would remove the sockets of the other process
// and then wait for its database silently. A Pod may start before its predecessor has ended, so lockDir waits for the
// lock for up to patience. Closing the file releases the lock, and so does the end of the process.
func lockDir(ctx context.Context, dir string, patience time.Duration) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of --data-dir %q: %w", dir, err)
	}
	if err := waitForLock(ctx, lock, dir, patience); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

// waitForLock polls the lock, because a blocking lock could not end with ctx or after patience.
func waitForLock(ctx context.Context, lock *os.File, dir string, patience time.Duration) error {
	start := time.Now()
	var reminded time.Time
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock --data-dir %q: %w", dir, err)
		}
		if time.Since(start) >= patience {
			return fmt.Errorf("--data-dir %q %w", dir, ErrInUse)
		}
		if reminded.IsZero() || time.Since(reminded) >= lockReminder {
			reminded = time.Now()
			klog.FromContext(ctx).Info("Waiting for another kruise-apiserver to release the data "+
				"directory", "dir", dir, "patience", patience)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for --data-dir %q: %w", dir, context.Cause(ctx))
		case <-time.After(lockRetry):
		}
	}
}
