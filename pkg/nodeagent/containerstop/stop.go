package containerstop

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"
)

// leastGrace is what a container gets in which to end, whatever its hook took.
const leastGrace = 2 * time.Second

// Annotations that the kubelet writes on containers.
const (
	deletionGraceKey    = "io.kubernetes.pod.deletionGracePeriod"
	terminationGraceKey = "io.kubernetes.pod.terminationGracePeriod"
	preStopKey          = "io.kubernetes.container.preStopHandler"
	portsKey            = "io.kubernetes.container.ports"
)

// Runtime is what of a container runtime is needed.
type Runtime interface {
	ContainerStatus(ctx context.Context, containerID string, verbose bool) (*runtimeapi.ContainerStatusResponse, error)
	ExecSync(ctx context.Context, containerID string, cmd []string, timeout time.Duration) (stdout, stderr []byte, err error)
	StopContainer(ctx context.Context, containerID string, timeout int64) error
}

// Stopper ends containers.
type Stopper struct {
	Clock clock.WithTicker
}

// Target is the container to end.
type Target struct {
	Runtime Runtime
	// ID is the runtime's own, without its name.
	ID string
	// PodIP is where hooks that are requests go.
	PodIP string
	// Manner is how to end it; nil reads from the container what the kubelet wrote there.
	Manner *Manner
	// Begin is called when the container is found running, before anything is done to it. It may be nil.
	Begin func()
	// HookFailed is called when the container's hook failed; the container is ended all the same. It may be nil.
	HookFailed func(error)
}

// Manner is how a container is ended.
type Manner struct {
	// Grace is how long the hook and the end of the container may take together. The hook is left out when it is zero.
	Grace time.Duration
	// PreStop is the hook, if there is one, and Ports are those that it may name.
	PreStop *corev1.LifecycleHandler
	Ports   []corev1.ContainerPort
}

// Stop ends the container unless it has ended. A container that is gone is no error.
func (s *Stopper) Stop(ctx context.Context, target Target) error {
	response, err := target.Runtime.ContainerStatus(ctx, target.ID, false)
	if status.Code(err) == codes.NotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get status of container %s: %w", target.ID, err)
	}
	if response.GetStatus().GetState() != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return nil
	}
	if target.Begin != nil {
		target.Begin()
	}
	manner := target.Manner
	if manner == nil {
		manner = written(response.GetStatus().GetAnnotations())
	}
	remaining := manner.Grace
	if manner.PreStop != nil && remaining > 0 {
		began := s.Clock.Now()
		if err := s.runHook(ctx, target, manner); err != nil && target.HookFailed != nil {
			target.HookFailed(err)
		}
		remaining -= s.Clock.Since(began)
	}
	err = target.Runtime.StopContainer(ctx, target.ID, int64(max(leastGrace, remaining)/time.Second))
	if err != nil && status.Code(err) != codes.NotFound {
		return fmt.Errorf("stop container %s: %w", target.ID, err)
	}
	return nil
}

// written is the manner that the kubelet wrote on the container. A hook that cannot be read is none.
func written(annotations map[string]string) *Manner {
	manner := &Manner{Grace: leastGrace}
	for _, key := range []string{terminationGraceKey, deletionGraceKey} {
		if seconds, err := strconv.ParseInt(annotations[key], 10, 32); err == nil {
			manner.Grace = time.Duration(seconds) * time.Second
		}
	}
	handler := &corev1.LifecycleHandler{}
	if err := json.Unmarshal([]byte(annotations[preStopKey]), handler); err == nil {
		manner.PreStop = handler
	}
	if err := json.Unmarshal([]byte(annotations[portsKey]), &manner.Ports); err != nil {
		manner.Ports = nil
	}
	return manner
}
