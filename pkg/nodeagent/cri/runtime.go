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
	// runtimeCallTimeout limits container calls, except those that have to wait, such as stopping a container.
	runtimeCallTimeout = 5 * time.Second
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

// connect connects to a runtime. It fails unless the runtime answers an image call and a version call.
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
