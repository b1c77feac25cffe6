package critest

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// containers is the container store of a Server.
type containers struct {
	mu   sync.Mutex
	list []*runtimeapi.Container
	exec func(context.Context, *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error)
}

// Add adds containers. Their statuses show their ID, state and time of creation.
func (s *Server) Add(added ...*runtimeapi.Container) {
	s.containers.mu.Lock()
	defer s.containers.mu.Unlock()
	s.containers.list = append(s.containers.list, added...)
}

// OnExec sets the function that handles further commands. Without one, each command succeeds at once.
func (s *Server) OnExec(exec func(context.Context, *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error)) {
	s.containers.mu.Lock()
	defer s.containers.mu.Unlock()
	s.containers.exec = exec
}

// ListContainers returns the containers that have the labels of the filter.
func (s *Server) ListContainers(_ context.Context, r *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	s.containers.mu.Lock()
	defer s.containers.mu.Unlock()
	response := &runtimeapi.ListContainersResponse{}
	for _, container := range s.containers.list {
		if has(container.GetLabels(), r.GetFilter().GetLabelSelector()) {
			response.Containers = append(response.Containers, container)
		}
	}
	return response, nil
}

// has returns true if the labels contain all of the selector.
func has(labels, selector map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// ContainerStatus returns the status of a container, or NotFound. The container counts as started when it was
// created.
func (s *Server) ContainerStatus(_ context.Context, r *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	s.containers.mu.Lock()
	defer s.containers.mu.Unlock()
	i := slices.IndexFunc(s.containers.list, func(c *runtimeapi.Container) bool { return c.GetId() == r.GetContainerId() })
	if i < 0 {
		return nil, status.Error(codes.NotFound, "no such container")
	}
	c := s.containers.list[i]
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{
		Id: c.GetId(), State: c.GetState(), CreatedAt: c.GetCreatedAt(), StartedAt: c.GetCreatedAt(),
		Metadata: &runtimeapi.ContainerMetadata{Name: c.GetId()}, Image: &runtimeapi.ImageSpec{Image: "image"}, ImageRef: "image",
	}}, nil
}

// ExecSync calls the function that OnExec set.
func (s *Server) ExecSync(ctx context.Context, r *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	s.containers.mu.Lock()
	// The function is called without the lock, because it may block.
	exec := s.containers.exec
	s.containers.mu.Unlock()
	if exec == nil {
		return &runtimeapi.ExecSyncResponse{}, nil
	}
	return exec(ctx, r)
}
