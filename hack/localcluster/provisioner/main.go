package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig")
	name := flag.String("name", "", "provisioner that the StorageClass names")
	dir := flag.String("dir", "", "folder that holds the volumes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *kubeconfig, *name, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "provisioner:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to undo.
	}
}

// run creates and removes volumes until ctx ends.
func run(ctx context.Context, kubeconfig, name, dir string) error {
	if kubeconfig == "" || name == "" || dir == "" {
		return errors.New("--kubeconfig, --name and --dir are required")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	if err := (&expander{client: client, name: name}).run(ctx); err != nil {
		return err
	}
	controller.NewProvisionController(ctx, client, name, provisioner{dir: dir}, controller.LeaderElection(false)).Run(ctx)
	return nil
}
