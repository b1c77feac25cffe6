package cri

import (
	"context"
	"time"

	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"k8s.io/component-base/metrics"
)

// requestSeconds has buckets from 5 ms to 80 s. Pulls and stops may take longer; the metrics of image pulls show the former.
var requestSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
	Namespace: "kruise_node_agent",
	Name:      "cri_request_duration_seconds",
	Help: "Duration of calls to the container runtime in seconds, by method. Commands that run in containers and graceful stops take as " +
		"long as users let them.",
	Buckets:        metrics.ExponentialBuckets(0.005, 4, 8),
	StabilityLevel: metrics.ALPHA,
}, []string{"method"})

// timedContainers measures the container calls that the agent makes. Other methods of the interface pass through
// without a measurement.
type timedContainers struct{ internalapi.RuntimeService }

// timedImages measures the image calls that the agent makes.
type timedImages struct {
	internalapi.ImageManagerService
}

// timed calls f and observes its duration, even if f fails.
func timed[R any](method string, f func() (R, error)) (R, error) {
	start := time.Now()
	defer func() { requestSeconds.WithLabelValues(method).Observe(time.Since(start).Seconds()) }()
	return f()
}

// Version implements internalapi.RuntimeService.
func (t timedContainers) Version(ctx context.Context, version string) (*runtimeapi.VersionResponse, error) {
	return timed("Version", func() (*runtimeapi.VersionResponse, error) { return t.RuntimeService.Version(ctx, version) })
}

// ListContainers implements internalapi.RuntimeService.
func (t timedContainers) ListContainers(ctx context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error) {
	return timed("ListContainers", func() ([]*runtimeapi.Container, error) { return t.RuntimeService.ListContainers(ctx, filter) })
}

// ContainerStatus implements internalapi.RuntimeService.
func (t timedContainers) ContainerStatus(ctx context.Context, id string, verbose bool) (*runtimeapi.ContainerStatusResponse, error) {
	return timed("ContainerStatus", func() (*runtimeapi.ContainerStatusResponse, error) {
		return t.RuntimeService.ContainerStatus(ctx, id, verbose)
	})
}

// StopContainer implements internalapi.RuntimeService.
func (t timedContainers) StopContainer(ctx context.Context, id string, grace int64) error {
	_, err := timed("StopContainer", func() (struct{}, error) { return struct{}{}, t.RuntimeService.StopContainer(ctx, id, grace) })
	return err
}

// ExecSync implements internalapi.RuntimeService.
func (t timedContainers) ExecSync(ctx context.Context, id string, cmd []string, limit time.Duration) (stdout, stderr []byte, err error) {
	stdout, err = timed("ExecSync", func() ([]byte, error) {
		var out []byte
		out, stderr, err = t.RuntimeService.ExecSync(ctx, id, cmd, limit)
		return out, err
	})
	return stdout, stderr, err
}

// ListImages implements internalapi.ImageManagerService.
func (t timedImages) ListImages(ctx context.Context, filter *runtimeapi.ImageFilter) ([]*runtimeapi.Image, error) {
	return timed("ListImages", func() ([]*runtimeapi.Image, error) { return t.ImageManagerService.ListImages(ctx, filter) })
}

// ImageStatus implements internalapi.ImageManagerService.
func (t timedImages) ImageStatus(ctx context.Context, image *runtimeapi.ImageSpec, verbose bool) (*runtimeapi.ImageStatusResponse, error) {
	return timed("ImageStatus", func() (*runtimeapi.ImageStatusResponse, error) {
		return t.ImageManagerService.ImageStatus(ctx, image, verbose)
	})
}

// PullImage implements internalapi.ImageManagerService.
func (t timedImages) PullImage(
	ctx context.Context, image *runtimeapi.ImageSpec, auth *runtimeapi.AuthConfig, sandbox *runtimeapi.PodSandboxConfig,
) (string, error) {
	return timed("PullImage", func() (string, error) { return t.ImageManagerService.PullImage(ctx, image, auth, sandbox) })
}
