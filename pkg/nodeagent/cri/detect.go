package cri

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"
)

// Runtimes are the usable runtimes of a node, at least one, the preferred one first.
type Runtimes []*Runtime

// Detect connects to the sockets in their order. An endpoint that does not answer as CRI v1 is logged and left out;
// when none is left, the error tells of each.
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
	if len(runtimes) == 0 {
		return nil, fmt.Errorf("no container runtime that speaks CRI v1: %w", errors.Join(errs...))
	}
	for _, err := range errs {
		logger.Error(err, "Left out a container runtime")
	}
	for _, runtime := range runtimes {
		logger.Info("Found a container runtime", "runtime", runtime.Name, "version", runtime.Version, "socket", runtime.Socket)
	}
	return runtimes, nil
}

// Default is the runtime for what belongs to no container, such as pulling images.
func (r Runtimes) Default() *Runtime {
	return r[0]
}

// Named returns the runtime whose name is the scheme of a container ID, or nil.
func (r Runtimes) Named(name string) *Runtime {
	for _, runtime := range r {
		if runtime.Name == name {
			return runtime
		}
	}
	return nil
}

// Close ends the connections.
func (r Runtimes) Close(ctx context.Context) error {
	var errs []error
	for _, runtime := range r {
		errs = append(errs, runtime.close(ctx))
	}
	return errors.Join(errs...)
}
