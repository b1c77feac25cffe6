//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
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

// reap waits for every child that has exited: one signal can stand for several exits.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && err != syscall.EINTR {
			return
		}
	}
}
