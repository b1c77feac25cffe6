// Command openkruise is the program of the image kruise.local/openkruise:v1, which stands in for OpenKruise's manager in tests of the
// take-over. With the argument agent, it stands in for the node agent, and does nothing.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/test/openkruise"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "openkruise:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to undo.
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		<-ctx.Done()
		return nil
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":9876")
	if err != nil {
		return err
	}
	manager := &openkruise.Manager{Client: client, Namespace: os.Getenv("POD_NAMESPACE"), Listener: listener}
	return manager.Run(ctx)
}
