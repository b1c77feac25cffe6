package containerstop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"
)

const (
	// leastGrace is the minimum time that a container gets to exit after its hook.
	leastGrace = 2 * time.Second
	// mostGrace is the maximum. Runtimes multiply the seconds, and larger values overflow.
	mostGrace = math.MaxInt32 * time.Second
)

// ErrNotStarted is returned for a container that was created but not started. It cannot be stopped yet.
var ErrNotStarted = errors.New("the container has not started yet")

// Annotations that the kubelet writes on containers.
const (
	deletionGraceKey    = "io.kubernetes.pod.deletionGracePeriod"
	terminationGraceKey = "io.kubernetes.pod.terminationGracePeriod"
	preStopKey          = "io.kubernetes.container.preStopHandler"
	portsKey            = "io.kubernetes.container.ports"
)

// Runtime lists the CRI calls that this package makes. Tests replace it.
type Runtime interface {
	ContainerStatus(ctx context.Context, containerID string, verbose bool) (*runtimeapi.ContainerStatusResponse, error)
	ExecSync(ctx context.Context, containerID string, cmd []string, timeout time.Duration) (stdout, stderr []byte, err error)
	StopContainer(ctx context.Context, containerID string, timeout int64) error
}

// Stopper stops containers.
type Stopper struct {
	Clock clock.WithTicker
}

// Target is the container to stop.
type Target struct {
	Runtime Runtime
	// ID is the container ID without the runtime name.
	ID string
	// PodIP is the address for HTTP hooks that name no host.
	PodIP string
	// Manner says how to stop the container. If nil, Stop uses the annotations that the kubelet set on the container.
	Manner *Manner
	// Begin is called once the container is known to be running, before anything is done to it. It may be nil.
	Begin func()
	// HookFailed is called if the preStop hook fails. The container is stopped anyway. It may be nil.
	HookFailed func(error)
}

// Manner says how to stop a container.
type Manner struct {
	// Grace is the time for the hook and the exit of the container together. If it is zero, the hook does not run.
	Grace time.Duration
	// PreStop is the preStop hook, or nil. Ports are the container ports that the hook may name.
	PreStop *corev1.LifecycleHandler
	Ports   []corev1.ContainerPort
}

// Stop stops the container if it is running, or if the runtime has lost track of its state. It returns nil if the
// container has exited or does not exist, and ErrNotStarted if it has not started. A failed hook is not an error of
// Stop. It blocks for up to the grace period and the time that the runtime needs to kill the container; the caller
// limits it by ctx.
func (s *Stopper) Stop(ctx context.Context, target Target) error {
	response, err := target.Runtime.ContainerStatus(ctx, target.ID, false)
	if status.Code(err) == codes.NotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get status of container %s: %w", target.ID, err)
	}
	switch response.GetStatus().GetState() {
	case runtimeapi.ContainerState_CONTAINER_EXITED:
		return nil
	case runtimeapi.ContainerState_CONTAINER_CREATED:
		return fmt.Errorf("stop container %s: %w", target.ID, ErrNotStarted)
	case runtimeapi.ContainerState_CONTAINER_RUNNING, runtimeapi.ContainerState_CONTAINER_UNKNOWN:
	}
	if target.Begin != nil {
		target.Begin()
	}
	manner := target.Manner
	if manner == nil {
		manner = written(response.GetStatus().GetAnnotations())
	}
	// The hook uses up a part of the grace period. In an unknown state, no command can run in the container.
	remaining := manner.Grace
	unknown := response.GetStatus().GetState() == runtimeapi.ContainerState_CONTAINER_UNKNOWN
	if manner.PreStop != nil && remaining > 0 && !unknown {
		began := s.Clock.Now()
		if err := s.runHook(ctx, target, manner); err != nil && target.HookFailed != nil {
			target.HookFailed(err)
		}
		remaining -= s.Clock.Since(began)
	}
	// The runtime sends the stop signal, and kills the container after the remaining time.
	err = target.Runtime.StopContainer(ctx, target.ID, int64(min(max(leastGrace, remaining), mostGrace)/time.Second))
	if err != nil && status.Code(err) != codes.NotFound {
		return fmt.Errorf("stop container %s: %w", target.ID, err)
	}
	return nil
}

// written returns the Manner that the kubelet stored on the container. An unreadable hook is ignored. The period of
// the deletion of the Pod comes before the one of its spec.
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
