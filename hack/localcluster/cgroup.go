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

// cgroupPrefix is the prefix of all cgroups of local clusters.
const cgroupPrefix = "kruise-local-"

// cgroup is the name of the cgroup that contains those of all nodes.
func (c *Cluster) cgroup() string { return cgroupPrefix + c.cfg.Name }

// hierarchy is a mounted cgroup file system. unified is true for version 2.
type hierarchy struct {
	path    string
	unified bool
}

// cgroupHierarchies returns the mounts of this machine. A machine can have both versions.
func cgroupHierarchies() ([]hierarchy, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	return parseHierarchies(string(data)), nil
}

// parseHierarchies returns the cgroup mounts in /proc/<pid>/mountinfo, see proc(5). Field 5 is the mount point. The
// type follows a dash.
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

// createCgroup creates the root cgroup of a kubelet in every hierarchy. The kubelet requires that it exists.
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

// prepare copies settings from the parent to a new cgroup. In version 2 a parent must enable controllers for its
// children. In version 1 the cpusets of a new group are empty.
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

// delegateControllers lets children of a cgroup of version 2 use all controllers that it has.
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

// removeCgroups removes the cgroups of the cluster in every hierarchy, the innermost first. It retries, because the
// kernel needs a moment to release the processes that have ended.
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

// removeTree removes a folder and its subfolders. The files of a cgroup disappear with their folder.
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
