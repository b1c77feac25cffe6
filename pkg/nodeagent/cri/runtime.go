package cri

import (
	"context"
	"errors"
	"fmt"
	"time"

	internalapi "k8s.io/cri-api/pkg/apis"
	remote "k8s.io/cri-client/pkg"
)

const (
	// imageConnectTimeout limits image calls. The slowest one lists images on a busy disk.
	imageConnectTimeout = 30 * time.Second
	// runtimeCallTimeout limits container calls, except those that have to wait.
	runtimeCallTimeout = 5 * time.Second
	// stopTimeout limits the stop of a container beyond its grace period. A busy runtime needs time to kill and unmount, and a
	// stop that is given up has to be tried again. The kubelet allows the same.
	stopTimeout = 2 * time.Minute
	// probeTimeout limits the calls that check whether an endpoint is usable.
	probeTimeout = 10 * time.Second
)

// Runtime is a container runtime that supports CRI v1. Its connections recover when the socket comes back.
type Runtime struct {
	// Socket is the path of the socket.
	Socket string
	// Name is the name that the runtime reports, such as containerd, cri-o or docker. It is the scheme of container IDs.
	Name string
	// Version is the version that the runtime reports.
	Version string

	Images     internalapi.ImageManagerService
	Containers internalapi.RuntimeService
}

// patient is the runtime service with a longer time limit for stops. The client of Kubernetes has one limit for all
// calls, so stops need a client of their own.
type patient struct {
	internalapi.RuntimeService
	stops internalapi.RuntimeService
}

// StopContainer stops a container. It waits for at most the grace period, in seconds, and stopTimeout.
func (p *patient) StopContainer(ctx context.Context, containerID string, grace int64) error {
	return p.stops.StopContainer(ctx, containerID, grace)
}

// Close closes both connections.
func (p *patient) Close(ctx context.Context) error {
	return errors.Join(p.RuntimeService.Close(ctx), p.stops.Close(ctx))
}

// connectContainers connects to the runtime service. On an error, it leaves no connection open.
func connectContainers(ctx context.Context, endpoint string) (internalapi.RuntimeService, error) {
	calls, err := remote.NewRemoteRuntimeService(ctx, endpoint, runtimeCallTimeout, nil, false)
	if err != nil {
		return nil, err
	}
	stops, err := remote.NewRemoteRuntimeService(ctx, endpoint, stopTimeout, nil, false)
	if err != nil {
		return nil, errors.Join(err, calls.Close(ctx))
	}
	return &patient{RuntimeService: calls, stops: stops}, nil
}

// connect connects to a runtime. It fails unless the runtime answers an image call and a version call. The image call
// comes first, because an endpoint without CRI v1 fails there. On an error, everything that was connected is closed
// again.
func connect(ctx context.Context, socket string) (_ *Runtime, err error) {
	probeCtx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	endpoint := "unix://" + socket
	runtime := &Runtime{Socket: socket}
	// connect returns a runtime only without an error, so nothing else closes it.
	defer func() {
		if err != nil {
			err = errors.Join(err, runtime.close(ctx))
		}
	}()
	if runtime.Images, err = remote.NewRemoteImageService(probeCtx, endpoint, imageConnectTimeout, nil, false); err != nil {
		return nil, fmt.Errorf("connect image service: %w", err)
	}
	// The calls of the check are measured too.
	runtime.Images = timedImages{runtime.Images}
	if _, err = runtime.Images.ListImages(probeCtx, nil); err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	if runtime.Containers, err = connectContainers(probeCtx, endpoint); err != nil {
		return nil, fmt.Errorf("connect runtime service: %w", err)
	}
	containers, err := withExec(runtime.Containers, socket)
	if err != nil {
		return nil, err
	}
	runtime.Containers = timedContainers{containers}
	version, err := runtime.Containers.Version(probeCtx, "")
	if err != nil {
		return nil, fmt.Errorf("get version: %w", err)
	}
	runtime.Name, runtime.Version = version.RuntimeName, version.RuntimeVersion
	return runtime, nil
}

// close closes the connections that exist.
func (r *Runtime) close(ctx context.Context) error {
	var errs []error
	if r.Images != nil {
		errs = append(errs, r.Images.Close(ctx))
	}
	if r.Containers != nil {
		errs = append(errs, r.Containers.Close(ctx))
	}
	return errors.Join(errs...)
}
