package localcluster

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces selects the namespaces that a process shares with an init process.
type namespaces int

// netOnly is the network namespace alone. fromNowhere means the namespaces of this process.
const (
	netOnly     namespaces = unix.CLONE_NEWNET
	inCluster              = netOnly | unix.CLONE_NEWPID
	inNode                 = inCluster | unix.CLONE_NEWNS
	fromNowhere namespaces = 0
)

// startInit starts cmd as process 1 of new namespaces. A cluster gets a network and a PID namespace. A node gets a
// mount and a PID namespace, and shares the network of its cluster's init process.
func startInit(clusterInit int, cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	if clusterInit == 0 {
		if err := keepDescriptors(); err != nil {
			return err
		}
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNET
		return cmd.Start()
	}
	return startIn(clusterInit, netOnly, cmd)
}

// startIn starts cmd inside the namespaces of the process init. It enters them on a separate thread, which ends with the call.
func startIn(init int, ns namespaces, cmd *exec.Cmd) error {
	if err := keepDescriptors(); err != nil {
		return err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if ns == fromNowhere {
		return cmd.Start()
	}
	result := make(chan error, 1)
	go onThrowawayThread(func() {
		if err := enter(init, ns); err != nil {
			result <- fmt.Errorf("enter the namespaces of process %d: %w", init, err)
			return
		}
		result <- cmd.Start()
	})
	return <-result
}

// onThrowawayThread calls f on a thread that ends with its goroutine, because the goroutine stays locked to the
// thread. The main thread of the process must not be used. It cannot end, so it would keep the namespaces alive, and
// /proc/self would show them to the whole process.
func onThrowawayThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() { // This goroutine holds the main thread, so the new one runs on another.
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
	runtime.UnlockOSThread()
}

// enter moves the current thread into namespaces of the process init. A thread must have its own root folder and
// working directory before it can enter a mount namespace.
func enter(init int, ns namespaces) error {
	if ns&unix.CLONE_NEWNS != 0 {
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return err
		}
	}
	fd, err := unix.PidfdOpen(init, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // Nothing was written.
	return unix.Setns(fd, int(ns))
}

// keepDescriptors marks inherited file descriptors as close-on-exec. Otherwise the processes of the cluster would
// hold a lock or a pipe of make as long as they run.
func keepDescriptors() error {
	const firstAfterStandard, last = 3, 1<<31 - 1
	if err := unix.CloseRange(firstAfterStandard, last, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep inherited descriptors from the cluster's processes: %w", err)
	}
	return nil
}

// freeDisk returns the free space on the disk of a folder, in bytes.
func freeDisk(dir string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(disk.Bavail) * disk.Bsize, nil
}
