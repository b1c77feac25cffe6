package localcluster

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces is what a process shares with an init process that it is started beside.
type namespaces int

const (
	netOnly     namespaces = unix.CLONE_NEWNET
	inCluster              = netOnly | unix.CLONE_NEWPID
	inNode                 = inCluster | unix.CLONE_NEWNS
	fromNowhere namespaces = 0
)

// startInit starts cmd as process 1 of new namespaces: a cluster's of network and processes, a node's of mounts and processes
// within the network of its cluster's init.
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

// startIn starts cmd inside the namespaces of the process init. It enters them on a thread of its own, which ends with the call.
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

// onThrowawayThread calls f on a thread that ends with the calling goroutine, as the runtime does to one that stays locked.
// The process's first thread cannot end: it would keep the namespaces alive, and /proc/self would show them to all of this process.
func onThrowawayThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() { // On another thread, since this goroutine holds the first.
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
	runtime.UnlockOSThread()
}

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

// keepDescriptors keeps what this program was given by its caller from what it starts: a lock or a pipe of make would stay held for
// as long as the cluster runs.
func keepDescriptors() error {
	const firstAfterStandard, last = 3, 1<<31 - 1
	if err := unix.CloseRange(firstAfterStandard, last, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep inherited descriptors from the cluster's processes: %w", err)
	}
	return nil
}
