//go:build bench

// Command benchmark measures one cluster in one run and prints:
//
//   - the latency and the CPU time of each verb for CloneSets, for apps/v1 Deployments, and for a custom resource with the CloneSet's
//     schema behind a mutating and a validating webhook, with one client and with several, for an ordinary user and an admin;
//   - the memory that many CloneSets use in their apiserver, and the memory that the same objects as custom resources use in
//     kube-apiserver;
//   - the latency of Pod creations without SidecarSets, and with 3 or 500 of them;
//   - the cost of the controller with many Pods on simulated nodes;
//   - StatefulSets and DaemonSets beside those of Kubernetes on simulated nodes, and a BroadcastJob whose controller is killed;
//   - many UnitedDeployments of CloneSets, and what they do when the nodes of a subset are full;
//   - a ResourceDistribution to many namespaces, and the controller's memory beside many Secrets of others;
//   - how latency, CPU time, memory and the store grow with the number of objects, and the controller's with the number of Pods.
//
// The flag -parts selects some of them, for example -parts statefulset. The parts about growth, objectgrowth and podgrowth, run only if
// they are selected, each on a new cluster, because they leave their objects behind.
//
// It sets no thresholds: figures of a single machine are noisy, and only the ratios within one run are meaningful.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// limits set the size of the run.
type limits struct {
	clients, objects, lists int
	stored, watchers        int
	pods                    int
	rounds                  int
}

func main() {
	var l limits
	flag.IntVar(&l.objects, "objects", 1000, "objects of each kind whose verbs are timed; 0 leaves that out")
	flag.IntVar(&l.clients, "clients", 10, "concurrent clients")
	flag.IntVar(&l.rounds, "rounds", 3, "how often the verbs are timed")
	flag.IntVar(&l.lists, "lists", 50, "full lists of each kind")
	flag.IntVar(&l.stored, "stored", 10000, "objects of each kind whose memory is measured; 0 leaves that out")
	flag.IntVar(&l.watchers, "watchers", 20, "watches open on each kind meanwhile")
	flag.IntVar(&l.pods, "pods", 300, "Pods that are updated, evicted and deleted with budgets, and created with SidecarSets; 0 leaves it out")
	var shape scaleShape
	flag.IntVar(&shape.large, "scale-large", 1000, "Pods of the large CloneSet on simulated nodes; 0 measures no scale")
	flag.IntVar(&shape.several, "scale-several", 3, "CloneSets that share as many Pods and work at the same time")
	flag.IntVar(&shape.sets, "scale-sets", 200, "small CloneSets on simulated nodes")
	flag.IntVar(&shape.each, "scale-each", 5, "Pods of each small CloneSet")
	var parts string
	flag.StringVar(&parts, "parts", strings.Join(defaultParts, ","), "what to measure; also "+objectGrowthPart+" and "+podGrowthPart)
	var fleet fleetShape
	flag.IntVar(&fleet.parallel, "statefulset-parallel", 500, "Pods of the StatefulSets whose Pods are managed in parallel")
	flag.IntVar(&fleet.ordered, "statefulset-ordered", 50, "Pods of the StatefulSets whose Pods are managed in order")
	flag.IntVar(&fleet.nodes, "nodes", 1000, "simulated nodes of the DaemonSets and of the BroadcastJob")
	flag.IntVar(&fleet.kills, "kills", 10, "how often the controller is killed while the BroadcastJob runs")
	flag.IntVar(&fleet.united, "united", 200, "UnitedDeployments with three subsets")
	flag.IntVar(&fleet.namespaces, "namespaces", 1000, "namespaces to which a ResourceDistribution copies a Secret")
	flag.IntVar(&fleet.secrets, "secrets", 10000, "Secrets of others that exist while the controller's memory is measured")
	growth := growthFlags()
	timeout := flag.Duration("timeout", time.Hour, "when to give up")
	flag.Parse()
	if min(l.clients, l.lists, l.watchers, l.rounds) < 1 {
		fmt.Fprintf(os.Stderr, "benchmark: -clients %d, -lists %d, -watchers %d, -rounds %d: each is 1 or more\n",
			l.clients, l.lists, l.watchers, l.rounds)
		os.Exit(2)
	}
	chosen, err := choose(parts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if err := run(ctx, chosen, l, shape, fleet, growth); err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to undo.
	}
}

// The names of the parts, in the order in which they run.
const (
	apiPart, budgetsPart, sidecarsPart, scalePart    = "api", "budgets", "sidecars", "scale"
	statefulSetPart, daemonSetPart, broadcastJobPart = "statefulset", "daemonset", "broadcastjob"
	unitedPart, sheddingPart, distributionPart       = "uniteddeployment", "shedding", "resourcedistribution"
	objectGrowthPart, podGrowthPart                  = "objectgrowth", "podgrowth"
)

var (
	defaultParts = []string{
		apiPart, budgetsPart, sidecarsPart, scalePart, statefulSetPart, daemonSetPart, broadcastJobPart, unitedPart, sheddingPart,
		distributionPart,
	}
	allParts = append(slices.Clone(defaultParts), objectGrowthPart, podGrowthPart)
)

// choose returns the parts in a text such as "api,scale".
func choose(text string) (chosen map[string]bool, err error) {
	chosen = map[string]bool{}
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(allParts, name) {
			return nil, fmt.Errorf("-parts %s: %q is not one of %s", text, name, strings.Join(allParts, ", "))
		}
		chosen[name] = true
	}
	return chosen, nil
}

func run(ctx context.Context, chosen map[string]bool, l limits, shape scaleShape, fleet fleetShape, growth *growthShape) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("read KUBECONFIG: %w", err)
	}
	config.QPS = -1
	core, err := kubernetes.NewForConfig(inProtobuf(config))
	if err != nil {
		return err
	}
	kruise, err := versioned.NewForConfig(inProtobuf(config))
	if err != nil {
		return err
	}
	b := &bench{limits: l, config: config, core: core}
	for _, part := range []struct {
		name   string
		wanted bool
		do     func() error
	}{
		{apiPart, true, func() error { return b.api(ctx, kruise) }},
		{budgetsPart, l.pods > 0, func() error { return b.budgets(ctx, kruise) }},
		{sidecarsPart, l.pods > 0, func() error { return b.sidecars(ctx, kruise) }},
		{scalePart, shape.large > 0, func() error { return measureScale(ctx, core, kruise, shape) }},
		{statefulSetPart, true, func() error { return measureStatefulSets(ctx, config, core, fleet) }},
		{daemonSetPart, fleet.nodes > 0, func() error { return measureNodes(ctx, config, core, fleet, false) }},
		{broadcastJobPart, fleet.nodes > 0, func() error { return measureNodes(ctx, config, core, fleet, true) }},
		{unitedPart, fleet.united > 0, func() error { return measureUnitedDeployments(ctx, config, core, fleet) }},
		{sheddingPart, fleet.united > 0, func() error { return measureShedding(ctx, config, core, fleet) }},
		{distributionPart, fleet.namespaces > 0, func() error { return measureDistributions(ctx, config, core, fleet) }},
		{objectGrowthPart, true, func() error { return b.growObjects(ctx, *growth) }},
		{podGrowthPart, true, func() error { return b.growPods(ctx, kruise, *growth) }},
	} {
		if !chosen[part.name] || !part.wanted {
			continue
		}
		if err := part.do(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
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
		if err := b.memory(ctx, cloneSets(kruise), customSets(custom.client)); err != nil {
			return err
		}
	}
	if b.objects == 0 {
		return nil
	}
	return b.verbs(ctx, custom)
}
