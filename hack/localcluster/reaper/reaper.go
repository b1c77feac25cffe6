//go:build unix

package reaper

import (
	"os"
	"os/signal"
	"syscall"
)

// Run waits for SIGTERM or SIGINT. Until then it reaps all children that end.
func Run() {
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
