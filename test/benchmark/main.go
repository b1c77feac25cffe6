//go:build bench

// Command benchmark measures one cluster in one run and prints:
//
//   - the latency of each verb for CloneSets, for apps/v1 Deployments, and for a custom resource with the CloneSet's schema
//     behind a mutating and a validating webhook;
//   - the memory that many CloneSets use in their apiserver, and the memory that the same objects as custom resources use in
//     kube-apiserver;
//   - the latency of Pod creations without SidecarSets, and with 3 or 500 of them;
//   - the cost of the controller with many Pods on simulated nodes.
//
// It sets no thresholds: figures of a single machine are noisy, and only the ratios within one run are meaningful.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// limits set the size of the run.
type limits struct {
	clients, objects, lists int
	stored, watchers        int
	pods                    int
}

func main() {
	var l limits
	flag.IntVar(&l.objects, "objects", 1000, "objects of each kind whose verbs are timed; 0 leaves that out")
	flag.IntVar(&l.clients, "clients", 10, "concurrent clients")
	flag.IntVar(&l.lists, "lists", 50, "full lists of each kind")
	flag.IntVar(&l.stored, "stored", 10000, "objects of each kind whose memory is measured; 0 leaves that out")
	flag.IntVar(&l.watchers, "watchers", 20, "watches open on each kind meanwhile")
	flag.IntVar(&l.pods, "pods", 300, "Pods that are updated, evicted and deleted with budgets, and created with SidecarSets; 0 leaves it out")
	var shape scaleShape
	flag.IntVar(&shape.large, "scale-large", 1000, "Pods of the large CloneSet on simulated nodes; 0 measures no scale")
	flag.IntVar(&shape.several, "scale-several", 3, "CloneSets that share as many Pods and work at the same time")
	flag.IntVar(&shape.sets, "scale-sets", 200, "small CloneSets on simulated nodes")
	flag.IntVar(&shape.each, "scale-each", 5, "Pods of each small CloneSet")
	timeout := flag.Duration("timeout", 40*time.Minute, "when to give up")
	flag.Parse()
	if l.clients < 1 || l.lists < 1 || l.watchers < 1 {
		fmt.Fprintf(os.Stderr, "benchmark: -clients %d, -lists %d, -watchers %d: each is 1 or more\n", l.clients, l.lists, l.watchers)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if err := run(ctx, l, shape); err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to undo.
	}
}

func run(ctx context.Context, l limits, shape scaleShape) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("read KUBECONFIG: %w", err)
	}
	config.QPS = -1
	protobuf := rest.CopyConfig(config)
	protobuf.ContentType = "application/vnd.kubernetes.protobuf"
	protobuf.AcceptContentTypes = protobuf.ContentType + ",application/json"
	core, err := kubernetes.NewForConfig(protobuf)
	if err != nil {
		return err
	}
	kruise, err := versioned.NewForConfig(protobuf)
	if err != nil {
		return err
	}
	b := &bench{limits: l, config: config, core: core}
	if err := b.api(ctx, kruise); err != nil {
		return err
	}
	if l.pods > 0 {
		if err := b.budgets(ctx, kruise); err != nil {
			return fmt.Errorf("budgets: %w", err)
		}
		if err := b.sidecars(ctx, kruise); err != nil {
			return fmt.Errorf("sidecars: %w", err)
		}
	}
	if shape.large == 0 {
		return nil
	}
	return measureScale(ctx, core, kruise, shape)
}

// api measures the servers: the latency of verbs, and the memory that objects use.
func (b *bench) api(ctx context.Context, kruise versioned.Interface) error {
	if b.objects == 0 && b.stored == 0 {
		return nil
	}
	custom, err := newCustom(ctx, b.config)
	if err != nil {
		return err
	}
	defer func() { custom.remove(context.WithoutCancel(ctx)) }()
	if b.stored > 0 { // Runs first, while the servers' heaps are small.
		if err := b.memory(ctx, cloneSets(kruise), custom.workload()); err != nil {
			return err
		}
	}
	if b.objects == 0 {
		return nil
	}
	return b.verbs(ctx, custom, cloneSets(kruise), deployments(b.core))
}
