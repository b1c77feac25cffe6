package localcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// mountPointMark is an attribute of the folders that this package created on the host, so that it removes no other.
const mountPointMark = "trusted.kruise-local"

// makeMountPoints creates those of the host's folders that are missing, for nodes to mount their own over them.
func makeMountPoints(dirs []string) error {
	unlock, err := lockMountPoints(dirs)
	if err != nil {
		return err
	}
	defer unlock()
	for _, dir := range dirs {
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("create mount point: %w", err)
		}
		_ = unix.Setxattr(dir, mountPointMark, []byte("1"), 0) // Without the mark, on a file system that knows none, the folder stays.
	}
	return nil
}

// removeMountPoints removes what makeMountPoints created and nobody filled, unless a cluster is in use: removing a mount point
// unmounts what is mounted there in other namespaces.
func removeMountPoints(dirs []string, inUse func() (bool, error)) error {
	unlock, err := lockMountPoints(dirs)
	if err != nil {
		return err
	}
	defer unlock()
	if used, err := inUse(); err != nil || used {
		return err
	}
	for _, dir := range dirs {
		if _, err := unix.Getxattr(dir, mountPointMark, nil); err == nil {
			_ = os.Remove(dir) // Fails for one that holds something.
		}
	}
	return nil
}

// lockMountPoints holds the folder above them, since a file to lock would be one more thing to leave behind.
func lockMountPoints(dirs []string) (unlock func(), err error) {
	parent, err := os.Open(filepath.Dir(dirs[0]))
	if err != nil {
		return nil, fmt.Errorf("lock mount points: %w", err)
	}
	if err := syscall.Flock(int(parent.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", parent.Name(), err), parent.Close())
	}
	return func() { _ = parent.Close() }, nil
}

// anyClusterRuns looks for the init process of any cluster, of this checkout or another. Up starts it before it makes mount points.
func anyClusterRuns() (bool, error) {
	all, err := processes()
	return slices.ContainsFunc(all, func(pid int) bool {
		args := commandLine(pid)
		return len(args) > 1 && filepath.Base(args[0]) == initProgram && args[1] == "hold"
	}), err
}
