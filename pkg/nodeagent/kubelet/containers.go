package kubelet

import (
	"context"
	"fmt"
	"strconv"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Labels that the kubelet sets on containers.
const (
	PodUIDLabel        = "io.kubernetes.pod.uid"
	PodNameLabel       = "io.kubernetes.pod.name"
	PodNamespaceLabel  = "io.kubernetes.pod.namespace"
	ContainerNameLabel = "io.kubernetes.container.name"
)

// Annotations that the kubelet sets on containers.
const (
	HashKey         = "io.kubernetes.container.hash"
	RestartCountKey = "io.kubernetes.container.restartCount"
)

// Lister lists containers by CRI.
type Lister interface {
	ListContainers(ctx context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error)
}

// List returns the containers that have the labels, in any state. Exited instances are among them until the kubelet
// removes them.
func List(ctx context.Context, runtime Lister, labels map[string]string) ([]*runtimeapi.Container, error) {
	listed, err := runtime.ListContainers(ctx, &runtimeapi.ContainerFilter{LabelSelector: labels})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	return listed, nil
}

// Newest returns the newest instance of each container of a Pod, by the name of the container. Init containers are
// among them.
func Newest(instances []*runtimeapi.Container) map[string]*runtimeapi.Container {
	newest := map[string]*runtimeapi.Container{}
	for _, container := range instances {
		name := container.GetLabels()[ContainerNameLabel]
		if other := newest[name]; other == nil || container.GetCreatedAt() > other.GetCreatedAt() {
			newest[name] = container
		}
	}
	return newest
}

// RestartCount returns the restart count of an instance. An unreadable count is zero, which never proves a restart.
func RestartCount(container *runtimeapi.Container) int32 {
	count, err := strconv.ParseInt(container.GetAnnotations()[RestartCountKey], 10, 32)
	if err != nil {
		return 0
	}
	return int32(count)
}

// Hash returns the hash of the container's spec that the instance was created from. Zero means that it is unknown.
// The kubelet writes it in hexadecimal.
func Hash(container *runtimeapi.Container) uint64 {
	hash, err := strconv.ParseUint(container.GetAnnotations()[HashKey], 16, 64)
	if err != nil {
		return 0
	}
	return hash
}
