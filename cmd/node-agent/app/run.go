package app

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // Registers rest_client_*.
	_ "k8s.io/component-base/metrics/prometheus/workqueue"  // Registers workqueue_*.
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/eventlimit"
	"kruise.io/kruise/pkg/nodeagent/cluster"
	"kruise.io/kruise/pkg/nodeagent/containerrestart"
	"kruise.io/kruise/pkg/nodeagent/cri"
	"kruise.io/kruise/pkg/nodeagent/imagepuller"
	"kruise.io/kruise/pkg/nodeagent/podprober"
	"kruise.io/kruise/pkg/nodeagent/server"
)

// component is the name of the agent in events and in its user agent.
const component = "kruise-daemon"

// rememberedEvents is how many recent events the agent caches to count repetitions. The default of 4,096 would keep a
// few MiB after many restarts, for as long as the agent runs.
const rememberedEvents = 256

// Run opens its address, finds the runtimes, and then serves until ctx ends. It opens the address first, because the
// address is the lock against a second agent on the host network.
func Run(ctx context.Context, config *Config) (err error) {
	logger := klog.FromContext(ctx).WithValues("node", config.NodeName)
	ctx = klog.NewContext(ctx, logger)
	logger.Info("Starting the node agent", "version", version.Get().GitVersion)
	registerMetrics()

	// The checks read check and parts only when a request arrives. The servers serve at the end of Run, when both are
	// set.
	var check *cri.Check
	var parts []part
	informers := informerChecks(&parts)
	ready := append([]server.Check{{Name: "cri", Run: func(ctx context.Context) error { return check.Check(ctx) }}}, informers...)
	servers := []*server.Server{server.New(config.Addr, informers, ready)}
	if config.EnablePprof {
		servers = append(servers, server.NewPprof(config.PprofAddr))
	}
	// If the second address is in use, the first one is closed again.
	for i, s := range servers {
		if err := s.Listen(ctx); err != nil {
			return errors.Join(err, closeAll(servers[:i]))
		}
	}
	runtimes, err := findRuntimes(ctx, config)
	if err != nil {
		return errors.Join(err, closeAll(servers))
	}
	// The connections are closed after all parts have ended, even if ctx has ended.
	defer func() { err = errors.Join(err, runtimes.Close(context.WithoutCancel(ctx))) }()
	choice := cri.NewChoice(runtimes, func(ctx context.Context) (string, error) { return runtimeOf(ctx, config) })
	check = cri.NewCheck(choice, clock.RealClock{})

	events := record.NewBroadcaster(record.WithContext(ctx), eventlimit.PerReason(rememberedEvents))
	defer events.Shutdown()
	events.StartRecordingToSink(cluster.Sink(ctx, config.Client))
	if parts, err = newParts(ctx, config, runtimes, choice, events); err != nil {
		return errors.Join(err, closeAll(servers))
	}
	return serve(ctx, servers, parts)
}

// registerMetrics registers the metrics of all parts, also of those that a feature gate turns off.
func registerMetrics() {
	cri.RegisterMetrics()
	podprober.RegisterMetrics()
	imagepuller.RegisterMetrics()
	containerrestart.RegisterMetrics()
}

// findRuntimes connects to the runtimes of the node. Without any, the agent ends, and its container starts again.
func findRuntimes(ctx context.Context, config *Config) (cri.Runtimes, error) {
	sockets, err := cri.Sockets(config.RunDir, config.SocketFile)
	if err != nil {
		return nil, fmt.Errorf("find container runtime: %w", err)
	}
	return cri.Detect(ctx, sockets)
}

// runtimeOf returns the name and version of the runtime that the Node of this node names.
func runtimeOf(ctx context.Context, config *Config) (string, error) {
	node, err := config.Client.Nodes().Get(ctx, config.NodeName, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return "", fmt.Errorf("get Node %s: %w", config.NodeName, err)
	}
	return node.Status.NodeInfo.ContainerRuntimeVersion, nil
}

// serve runs the servers and the parts in parallel until ctx ends. If a server fails, the others stop. It returns when all
// have ended.
func serve(ctx context.Context, servers []*server.Server, parts []part) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range servers {
		klog.FromContext(ctx).V(2).Info("Serving", "address", s.Addr())
		group.Go(func() error { return s.Run(ctx) })
	}
	for _, p := range parts {
		group.Go(func() error {
			p.run(ctx)
			return nil
		})
	}
	group.Go(func() error {
		release(ctx, parts)
		return nil
	})
	err := group.Wait()
	klog.FromContext(ctx).Info("Stopped the node agent")
	return err
}

// release returns memory to the operating system once, after the caches are filled. The first lists are the largest answers
// that a waiting agent ever reads. Without this call, the Go runtime would keep about the same amount of memory reserved again.
func release(ctx context.Context, parts []part) {
	var all []cache.InformerSynced
	for _, p := range parts {
		if p.synced != nil {
			all = append(all, p.synced)
		}
	}
	if cache.WaitForCacheSync(ctx.Done(), all...) {
		debug.FreeOSMemory()
	}
}

// closeAll closes servers that never ran.
func closeAll(servers []*server.Server) error {
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
