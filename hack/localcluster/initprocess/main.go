//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	const minArgs = 3
	if len(os.Args) < minArgs {
		fail("usage: %s hold <dir> <name> | spawn <program> <arguments>…", os.Args[0])
	}
	switch os.Args[1] {
	case "hold":
		hold()
	case "spawn":
		if err := spawn(os.Args[2], os.Args[3:]); err != nil {
			fail("start %s: %v", os.Args[2], err)
		}
	default:
		fail("mode %q: use hold or spawn", os.Args[1])
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

func spawn(program string, args []string) error {
	cmd := exec.Command(program, args...) //nolint:noctx // It outlives this process.
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

func hold() {
	const backlog = 16
	signals := make(chan os.Signal, backlog)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap reaps all children that have ended. Several ends may cause only one signal.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && err != syscall.EINTR {
			return
		}
	}
}
