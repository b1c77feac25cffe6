//go:build bench

// Command benchmark prints, for one cluster in one run, the latency of the basic verbs for CloneSets and for apps/v1
// Deployments and the ratio of the two. It judges nothing: single machines are noisy, ratios in one run are what counts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

func main() {
	objects := flag.Int("objects", 1000, "objects of each kind")
	clients := flag.Int("clients", 10, "concurrent clients")
	lists := flag.Int("lists", 50, "full lists of each kind")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *objects, *clients, *lists); err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to undo.
	}
}

func run(ctx context.Context, objects, clients, lists int) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("read KUBECONFIG: %w", err)
	}
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = config.ContentType + ",application/json"
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	kruise, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	b := &bench{core: core, clients: clients, objects: objects, lists: lists}
	return b.compare(ctx, cloneSets(kruise), deployments(core))
}
