// Command node-agent runs on every node, beside the kubelet, and talks to the node's container runtime.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/cli"

	"kruise.io/kruise/cmd/node-agent/app"
)

func main() {
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
