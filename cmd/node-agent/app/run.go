package app

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

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
	ready := server.Check{Name: "cri", Run: func(ctx context.Context) error { return check.Check(ctx) }}
	servers := []*server.Server{server.New(config.Addr, nil, []server.Check{ready})}
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

	return serve(ctx, servers, func(ctx context.Context) {
		reporter := status.Reporter{
			Events: config.Client.CoreV1().Events(metav1.NamespaceDefault), Node: config.NodeName, Clock: clock.RealClock{},
		}
		reporter.Report(ctx, describe(runtimes))
	})
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

// serve runs the servers and the report side by side. The first server to fail ends the others.
func serve(ctx context.Context, servers []*server.Server, report func(context.Context)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		report(ctx)
	}()
	ended := make(chan error)
	for _, s := range servers {
		klog.FromContext(ctx).V(2).Info("Serving", "address", s.Addr())
		go func() {
			defer cancel()
			ended <- s.Run(ctx)
		}()
	}
	var errs []error
	for range servers {
		errs = append(errs, <-ended)
	}
	cancel()
	<-reported
	klog.FromContext(ctx).Info("Stopped the node agent")
	return errors.Join(errs...)
}

func closeAll(servers []*server.Server) error {
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
