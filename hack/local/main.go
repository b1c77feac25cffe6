package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"kruise.io/kruise/hack/checkout"
)

// commands is the table of commands.
var commands = []struct {
	name, help string
	run        func(ctx context.Context, l *local, args []string) error
}{
	{"up", "start the cluster, install Kruise and apply the example", up},
	{"down", "end the cluster and remove its state", down},
	{"deploy", "install Kruise in the cluster of KUBECONFIG", deploy},
	{"images", "write the programs' images to .local/images", buildImages},
	{"binaries", "build the programs of the cluster, helm and kubectl into .local/bin", buildBinaries},
	{"component", "start, stop, kill or restart one process of the cluster: component kill etcd", component},
}

func main() { checkout.Main(run) }

// run finds the command and calls it. An unknown command is an error that lists all of them.
func run(ctx context.Context, root string, args []string) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	names := make([]string, 0, len(commands))
	for _, command := range commands {
		if command.name == name {
			l, err := newLocal(root, os.Stdout)
			if err != nil {
				return err
			}
			return command.run(ctx, l, args[1:])
		}
		names = append(names, command.name+" ("+command.help+")")
	}
	return fmt.Errorf("command %q: use one of %s", name, strings.Join(names, ", "))
}
