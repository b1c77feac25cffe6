package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cgroupPrefix is what all control groups of local clusters begin with.
const cgroupPrefix = "kruise-local-"

func (c *Cluster) cgroup() string { return cgroupPrefix + c.cfg.Name }

// hierarchy is a mounted control group file system.
type hierarchy struct {
	path    string
	unified bool
}

func cgroupHierarchies() ([]hierarchy, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	return parseHierarchies(string(data)), nil
}

// parseHierarchies takes the cgroup mounts out of proc(5)'s mountinfo: field 5 is the mount point, the type follows a dash.
func parseHierarchies(mountinfo string) []hierarchy {
	const mountPoint = 4
	var list []hierarchy
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		if dash < 0 || dash+1 >= len(fields) || dash <= mountPoint {
			continue
		}
		if fsType := fields[dash+1]; fsType == "cgroup" || fsType == "cgroup2" {
			list = append(list, hierarchy{path: fields[mountPoint], unified: fsType == "cgroup2"})
		}
	}
	return list
}

// createCgroup makes the group that a kubelet calls its root, in every hierarchy: the kubelet wants to find it.
func (c *Cluster) createCgroup(group string) error {
	list, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, h := range list {
		path := h.path
		for name := range strings.SplitSeq(strings.Trim(group, "/"), "/") {
			parent := path
			path = filepath.Join(path, name)
			if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("create control group: %w", err)
			}
			if err := h.prepare(parent, path); err != nil {
				return fmt.Errorf("prepare control group %s: %w", path, err)
			}
		}
	}
	return nil
}

// prepare hands a new group what its parent has: version 2 enables controllers for children, version 1's cpusets start empty.
func (h hierarchy) prepare(parent, path string) error {
	if h.unified {
		return delegateControllers(parent)
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, file))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(path, file), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func delegateControllers(parent string) error {
	available, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(available)) {
		if err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroups removes the cluster's groups in every hierarchy, innermost first. The kernel takes a moment to let go of the dead.
func (c *Cluster) removeCgroups(ctx context.Context) error {
	list, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	const patience = 20 * time.Second
	for _, h := range list {
		err := await(ctx, patience, func(context.Context) error { return removeTree(filepath.Join(h.path, c.cgroup())) })
		if err != nil {
			return fmt.Errorf("remove control groups: %w", err)
		}
	}
	return nil
}

// removeTree removes a folder and those below it; the files of a control group are not removed one by one.
func removeTree(root string) error {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if err := removeTree(filepath.Join(root, entry.Name())); err != nil {
			return err
		}
	}
	if err := os.Remove(root); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
