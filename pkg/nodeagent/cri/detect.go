package cri

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"
)

// Runtimes holds the usable runtimes of a node, at least one, in order of preference. It does not change after
// Detect.
type Runtimes []*Runtime

// Detect connects to the sockets in the given order. It logs and skips an endpoint that does not support CRI v1. If
// no endpoint remains, it returns an error that describes each. The agent then exits, and its restart looks again. A
// runtime that appears later is not found.
func Detect(ctx context.Context, sockets []string) (Runtimes, error) {
	logger := klog.FromContext(ctx)
	var runtimes Runtimes
	var errs []error
	for _, socket := range sockets {
		runtime, err := connect(ctx, socket)
		if err != nil {
			errs = append(errs, fmt.Errorf("runtime at %s: %w", socket, err))
			continue
		}
		runtimes = append(runtimes, runtime)
	}
	// The connections of the others are closed in connect.
	if len(runtimes) == 0 {
		return nil, fmt.Errorf("no container runtime that speaks CRI v1: %w", errors.Join(errs...))
	}
	for _, err := range errs {
		logger.Error(err, "Skipped a container runtime")
	}
	for _, runtime := range runtimes {
		logger.Info("Found a container runtime", "runtime", runtime.Name, "version", runtime.Version, "socket", runtime.Socket)
	}
	return runtimes, nil
}

// Named returns the runtime with the given name, or nil. The name is the scheme of a container ID.
func (r Runtimes) Named(name string) *Runtime {
	for _, runtime := range r {
		if runtime.Name == name {
			return runtime
		}
	}
	return nil
}

// Close closes the connections.
func (r Runtimes) Close(ctx context.Context) error {
	var errs []error
	for _, runtime := range r {
		errs = append(errs, runtime.close(ctx))
	}
	return errors.Join(errs...)
}
