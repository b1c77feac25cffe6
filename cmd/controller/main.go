// Command controller runs the Kruise controllers.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/cli"

	"kruise.io/kruise/cmd/controller/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	command := app.NewCommand(os.Getenv)
	command.SetContext(ctx)
	code := cli.Run(command)
	stop()
	os.Exit(code)
}
