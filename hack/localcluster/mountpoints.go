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

// mountPointMark is an extended attribute of the host folders that this package creates. It removes no other folders.
const mountPointMark = "trusted.kruise-local"

// makeMountPoints creates the missing folders on the host. Nodes mount their own folders over them.
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
		_ = unix.Setxattr(dir, mountPointMark, []byte("1"), 0) // Without the mark, the folder is never removed.
	}
	return nil
}

// removeMountPoints removes the folders that makeMountPoints created, if they are empty and no cluster is in use.
// Removing a mount point would unmount it in other mount namespaces.
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
			_ = os.Remove(dir) // Remove fails for a folder that is not empty.
		}
	}
	return nil
}

// lockMountPoints locks the parent folder, because a lock file would be left behind.
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

// anyClusterRuns looks for the init process of any cluster, of any checkout. Up starts the init process before it creates mount points.
func anyClusterRuns() (bool, error) {
	all, err := processes()
	return slices.ContainsFunc(all, func(pid int) bool {
		args := commandLine(pid)
		return len(args) > 1 && filepath.Base(args[0]) == initProgram && args[1] == "hold"
	}), err
}
