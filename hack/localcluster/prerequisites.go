package localcluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// alternative ends every message about something that this machine lacks.
const alternative = "to use another cluster instead, run: KUBECONFIG=<its kubeconfig> make deploy"

// hostTool is a required program of the host and the Debian package that contains it.
type hostTool struct{ path, pkg string }

// hostTools lists the required programs. Those of one package follow each other, see missingPackages.
func hostTools() []hostTool {
	return []hostTool{
		{"containerd", "containerd"},
		{"ctr", "containerd"},
		{"crun", "crun"}, // for containerd 1.6
		{"runc", "runc"}, // for containerd 2
		{"/usr/lib/cni/bridge", "containernetworking-plugins"},
		{"iptables", "iptables"},
		{"ip", "iproute2"},
		{"mount", "mount"},
		{"docker-registry", "docker-registry"},
		{"tmux", "tmux"}, // Tests show programs on a terminal with it.
	}
}

// Prepare checks the machine, installs missing Debian packages and builds the programs. Up calls it first.
func (c *Cluster) Prepare(ctx context.Context) error {
	if err := checkMachine(runtime.GOOS, os.Geteuid()); err != nil {
		return err
	}
	if err := os.Setenv("PATH", hostPath(os.Getenv("PATH"), c.cfg.BinDir)); err != nil {
		return fmt.Errorf("set PATH: %w", err)
	}
	if err := c.installPackages(ctx, missingPackages(hostTools(), present)); err != nil {
		return err
	}
	if err := c.buildNeeded(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(c.cfg.Dir, 0o755); err != nil {
		return err
	}
	if err := allowWatches(watchesFile); err != nil {
		return err
	}
	free, err := freeDisk(c.cfg.Dir)
	if err != nil {
		return err
	}
	return checkDisk(c.cfg.Dir, free)
}

const (
	// watchesFile has the maximum number of inotify instances of a user on this machine.
	watchesFile = "/proc/sys/fs/inotify/max_user_instances"
	// neededWatches is enough for many clusters. One uses about 40, and the kernel's default of 128 stops the kubelets of the fourth.
	neededWatches = 1024
)

// allowWatches raises the number in the file to neededWatches. It never lowers it.
func allowWatches(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	now, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if now >= neededWatches {
		return nil
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(neededWatches)), 0o644); err != nil {
		return fmt.Errorf("raise the maximum number of inotify instances from %d to %d: %w; run sysctl fs.inotify.max_user_instances=%d on the "+
			"host of this machine", now, neededWatches, err, neededWatches)
	}
	return nil
}

// neededDisk is the disk space that the state, images and logs of a cluster need, in bytes.
const neededDisk = 1 << 30

// checkDisk refuses a disk that the cluster would fill. Its nodes would then evict Pods and its etcd would stop.
func checkDisk(dir string, free int64) error {
	if free >= neededDisk {
		return nil
	}
	return fmt.Errorf("the disk of %s has %d MiB free and the local cluster needs %d MiB; "+
		"delete files on it, for example with: go clean -cache", dir, free>>20, neededDisk>>20)
}

// hostPath returns the PATH on which programs of the machine are found. It has the folders of ip and iptables, which are not in the PATH of
// su and cron. It does not have the folder of the built programs, which users put there: a containerd in it can have another version.
func hostPath(path, built string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return filepath.Clean(dir) == built })
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(os.PathListSeparator))
}

// checkMachine refuses machines on which a cluster cannot run.
func checkMachine(goos string, uid int) error {
	if goos != "linux" {
		return fmt.Errorf("the local cluster needs Linux, this is %s; %s", goos, alternative)
	}
	if uid != 0 {
		return fmt.Errorf("the local cluster needs root, this is user %d; %s", uid, alternative)
	}
	return nil
}

// present returns true if a program is on PATH, or at its absolute path.
func present(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}

// missingPackages returns the packages of missing programs, each once.
func missingPackages(list []hostTool, present func(string) bool) []string {
	var missing []string
	for _, tool := range list {
		if !present(tool.path) && (len(missing) == 0 || missing[len(missing)-1] != tool.pkg) {
			missing = append(missing, tool.pkg)
		}
	}
	return missing
}

const (
	// aptLocked is in the error of an apt-get that another program keeps from the lists or the packages. apt-get waits for neither of them
	// by default, and has no option to wait for the lists.
	aptLocked = "Could not get lock"
	// aptPatience is how long to wait for another program, and aptInterval is the time between two attempts.
	aptPatience, aptInterval = 5 * time.Minute, time.Second
)

// afterOthers repeats an installation while another program installs packages: a new machine upgrades itself after its start, and other
// clusters may start at the same time. A running installation is not ended by the time limit.
func (c *Cluster) afterOthers(ctx context.Context, install func() error) error {
	for began, told := time.Now(), false; ; told = true {
		err := install()
		if err == nil || !strings.Contains(err.Error(), aptLocked) || time.Since(began) > aptPatience {
			return err
		}
		if !told {
			c.progress("waiting for another program that installs Debian packages")
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(aptInterval):
		}
	}
}

// installPackages updates the package lists first, because a new machine has none. It does not start the services in
// the packages. They would do no harm, but the cluster runs its own containerd and registry.
func (c *Cluster) installPackages(ctx context.Context, missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	names := strings.Join(missing, " ")
	if !present("apt-get") {
		return fmt.Errorf("the local cluster needs the programs of the Debian packages %s, and there is no apt-get to install them; %s",
			names, alternative)
	}
	c.progress("installing the Debian packages %s", names)
	script := "export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 LC_ALL=C\n" +
		"apt-get update && apt-get install -y --no-install-recommends " + names
	if err := c.afterOthers(ctx, func() error { _, err := run(ctx, 0, fromNowhere, "sh", "-c", script); return err }); err != nil {
		return fmt.Errorf("install the Debian packages %s: %w; %s", names, err, alternative)
	}
	// The check after the installation finds packages that do not contain what they should.
	installed := slices.DeleteFunc(hostTools(), func(tool hostTool) bool { return !slices.Contains(missing, tool.pkg) })
	if still := missingPackages(installed, present); len(still) > 0 {
		return fmt.Errorf("installed the Debian packages %s, but programs of %s are not on PATH; %s",
			names, strings.Join(still, " "), alternative)
	}
	return nil
}
