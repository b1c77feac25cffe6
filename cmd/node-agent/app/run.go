package app

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/nodeagent/containermeta"
	"kruise.io/kruise/pkg/nodeagent/cri"
	"kruise.io/kruise/pkg/nodeagent/server"
	"kruise.io/kruise/pkg/nodeagent/status"
)

const component = "kruise-daemon"

// Run takes its address, finds the runtimes, and then serves until the context ends. The address comes first: it is the
// lock against a second agent on the host's network.
func Run(ctx context.Context, config *Config) (err error) {
	logger := klog.FromContext(ctx).WithValues("node", config.NodeName)
	ctx = klog.NewContext(ctx, logger)
	logger.Info("Starting the node agent", "version", version.Get().GitVersion)
	cri.RegisterMetrics()

	var check *cri.Check
	synced := func() bool { return true }
	servers := []*server.Server{server.New(config.Addr, nil, []server.Check{
		{Name: "cri", Run: func(ctx context.Context) error { return check.Check(ctx) }},
		{Name: "podInformerSynced", Run: func(context.Context) error {
			if !synced() {
				return errors.New("not synced")
			}
			return nil
		}},
	})}
	if config.EnablePprof {
		servers = append(servers, server.NewPprof(config.PprofAddr))
	}
	for i, s := range servers {
		if err := s.Listen(ctx); err != nil {
			return errors.Join(err, closeAll(servers[:i]))
		}
	}
	runtimes, err := findRuntimes(ctx, config)
	if err != nil {
		return errors.Join(err, closeAll(servers))
	}
	defer func() { err = errors.Join(err, runtimes.Close(context.WithoutCancel(ctx))) }()
	check = cri.NewCheck(runtimes, clock.RealClock{})

	reporter := status.Reporter{
		Events: config.Client.CoreV1().Events(metav1.NamespaceDefault), Node: config.NodeName, Clock: clock.RealClock{},
	}
	work := []func(context.Context) error{func(ctx context.Context) error {
		reporter.Report(ctx, describe(runtimes))
		return nil
	}}
	if config.Gates.Enabled(features.DaemonWatchingPod) {
		meta, stop, err := containerMeta(ctx, config, runtimes)
		if err != nil {
			return errors.Join(err, closeAll(servers))
		}
		defer stop()
		synced = meta.Synced
		work = append(work, meta.Run)
	}
	return serve(ctx, servers, work)
}

// containerMeta makes what reports on Pods. The function returned ends its events.
func containerMeta(ctx context.Context, config *Config, runtimes cri.Runtimes) (*containermeta.Controller, func(), error) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: config.Client.CoreV1().Events("")})
	c, err := containermeta.New(containermeta.Config{
		Node: config.NodeName, Client: config.Client, Clock: clock.RealClock{},
		Environment: config.Gates.Enabled(features.InPlaceUpdateEnvFromMetadata),
		Recorder:    broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component + "-containermeta", Host: config.NodeName}),
		Runtime: func(name string) containermeta.Runtime {
			if runtime := runtimes.Named(name); runtime != nil {
				return runtime.Containers
			}
			return nil
		},
	})
	if err != nil {
		broadcaster.Shutdown()
		return nil, nil, err
	}
	return c, broadcaster.Shutdown, nil
}

func findRuntimes(ctx context.Context, config *Config) (cri.Runtimes, error) {
	sockets, err := cri.Sockets(config.RunDir, config.SocketFile)
	if err != nil {
		return nil, fmt.Errorf("find container runtime: %w", err)
	}
	return cri.Detect(ctx, sockets)
}

func describe(runtimes cri.Runtimes) status.Report {
	report := status.Report{Agent: version.Get().GitVersion}
	for _, runtime := range runtimes {
		report.Runtimes = append(report.Runtimes, runtime.Name+" "+runtime.Version)
	}
	return report
}

// serve runs the servers and the work side by side, until the context ends. The first to fail ends the others.
func serve(ctx context.Context, servers []*server.Server, work []func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range servers {
		klog.FromContext(ctx).V(2).Info("Serving", "address", s.Addr())
		group.Go(func() error { return s.Run(ctx) })
	}
	for _, run := range work {
		group.Go(func() error { return run(ctx) })
	}
	err := group.Wait()
	klog.FromContext(ctx).Info("Stopped the node agent")
	return err
}

func closeAll(servers []*server.Server) error {
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
