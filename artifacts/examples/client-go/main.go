// Command client-go does with a CloneSet what any Go program does with a Deployment: it
// lists, creates, watches, applies and deletes one, with types and without a generated
// client of its own. It also uses a cluster-scoped kind and the group policy.kruise.io. It is
// a module by itself, as yours is, and imports only pkg/apis and pkg/generated of Kruise.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client-go:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("client-go", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "file that names the cluster; empty inside a Pod")
	namespace := flags.String("namespace", "default", "namespace of the CloneSet")
	name := flags.String("name", "client-go-example", "name of the CloneSet")
	image := flags.String("image", "kruise.local/demo:v1", "image of its container")
	timeout := flags.Duration("timeout", time.Minute, "how long to wait for each step")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig %q: %w", *kubeconfig, err)
	}
	clients, err := versioned.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make clients: %w", err)
	}
	example := &example{
		cloneSets:  clients.AppsV1beta1().CloneSets(*namespace),
		nodeImages: clients.AppsV1beta1().NodeImages(),
		budgets:    clients.PolicyV1beta1().PodUnavailableBudgets(*namespace),
		name:       *name, image: *image, timeout: *timeout, out: os.Stdout,
	}
	return example.run(ctx)
}
