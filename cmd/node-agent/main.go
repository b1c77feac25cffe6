// Command node-agent runs on every node, beside the kubelet, and talks to the node's container runtime.
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

// gcPercent is by how much the heap may outgrow what is in use, where GOGC does not say. One agent runs on each node, has a few
// MiB in use, and mostly waits: collecting twice as often costs nothing, and each node has 2 MiB more.
const gcPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run())
}

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
