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
	// imageConnectTimeout bounds image calls, of which listing on a busy disk is the slowest.
	imageConnectTimeout = 30 * time.Second
	// runtimeCallTimeout bounds calls about containers, except those that wait by their nature.
	runtimeCallTimeout = 5 * time.Second
	// probeTimeout bounds what is asked of an endpoint before it counts as usable.
	probeTimeout = 10 * time.Second
)

// Runtime is a container runtime that speaks CRI v1. Its connections come back by themselves when the socket does.
type Runtime struct {
	// Socket is the path that the runtime was found at.
	Socket string
	// Name is the runtime's own, the scheme of its container IDs: containerd, cri-o, docker.
	Name string
	// Version is the runtime's own.
	Version string

	Images     internalapi.ImageManagerService
	Containers internalapi.RuntimeService
}

// connect asks for the images, then for the version, and fails unless both are answered.
func connect(ctx context.Context, socket string) (_ *Runtime, err error) {
	probeCtx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	endpoint := "unix://" + socket
	runtime := &Runtime{Socket: socket}
	defer func() {
		if err != nil {
			err = errors.Join(err, runtime.close(ctx))
		}
	}()
	if runtime.Images, err = remote.NewRemoteImageService(probeCtx, endpoint, imageConnectTimeout, nil, false); err != nil {
		return nil, fmt.Errorf("connect image service: %w", err)
	}
	if _, err = runtime.Images.ListImages(probeCtx, nil); err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	if runtime.Containers, err = remote.NewRemoteRuntimeService(probeCtx, endpoint, runtimeCallTimeout, nil, false); err != nil {
		return nil, fmt.Errorf("connect runtime service: %w", err)
	}
	version, err := runtime.Containers.Version(probeCtx, "")
	if err != nil {
		return nil, fmt.Errorf("get version: %w", err)
	}
	runtime.Name, runtime.Version = version.RuntimeName, version.RuntimeVersion
	return runtime, nil
}

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
