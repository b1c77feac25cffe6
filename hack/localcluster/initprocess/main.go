//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"kruise.io/kruise/hack/localcluster/reaper"
)

const (
	// ownedVariable is the variable OwnedVariable of package localcluster, and ownerDescriptor the file that it is about.
	ownedVariable   = "KRUISE_LOCAL_OWNED"
	ownerDescriptor = 3
)

func main() {
	const minArgs = 3
	if len(os.Args) < minArgs {
		fail("usage: %s hold <dir> <name> | spawn <program> <arguments>…", os.Args[0])
	}
	switch os.Args[1] {
	case "hold":
		if os.Getenv(ownedVariable) != "" {
			go endWith(os.NewFile(ownerDescriptor, "owner"))
		}
		reaper.Run()
	case "spawn":
		if err := spawn(os.Args[2], os.Args[3:]); err != nil {
			fail("start %s: %v", os.Args[2], err)
		}
	default:
		fail("mode %q: use hold or spawn", os.Args[1])
	}
}

// endWith ends this process, and so all processes of its namespace, when the owner has closed its end of a pipe.
func endWith(owner io.Reader) {
	_, _ = io.Copy(io.Discard, owner)
	os.Exit(0)
}

// fail ends the program with a message.
func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

// spawn starts the program in a session of its own, so that signals for the terminal of the caller do not reach it.
func spawn(program string, args []string) error {
	cmd := exec.Command(program, args...) //nolint:noctx // It outlives this process.
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}
