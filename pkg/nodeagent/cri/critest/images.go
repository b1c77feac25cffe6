package critest

import (
	"context"
	"slices"
	"sync"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// images is the image store of a Server.
type images struct {
	mu     sync.Mutex
	list   []*runtimeapi.Image
	pulled []*runtimeapi.PullImageRequest
	pull   func(context.Context, *runtimeapi.PullImageRequest) error
}

// OnPull sets the function that handles further pulls. The pull succeeds if the function returns nil.
func (s *Server) OnPull(pull func(context.Context, *runtimeapi.PullImageRequest) error) {
	s.images.mu.Lock()
	defer s.images.mu.Unlock()
	s.images.pull = pull
}

// Pulled returns the pull requests so far.
func (s *Server) Pulled() []*runtimeapi.PullImageRequest {
	s.images.mu.Lock()
	defer s.images.mu.Unlock()
	return slices.Clone(s.images.pulled)
}

// ListImages returns the pulled images.
func (s *Server) ListImages(context.Context, *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	s.images.mu.Lock()
	defer s.images.mu.Unlock()
	return &runtimeapi.ListImagesResponse{Images: slices.Clone(s.images.list)}, nil
}

// ImageStatus returns the image that was pulled under exactly this name.
func (s *Server) ImageStatus(_ context.Context, r *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	s.images.mu.Lock()
	defer s.images.mu.Unlock()
	i := slices.IndexFunc(s.images.list, func(image *runtimeapi.Image) bool {
		return slices.Contains(image.GetRepoTags(), r.GetImage().GetImage())
	})
	if i < 0 {
		return &runtimeapi.ImageStatusResponse{}, nil
	}
	return &runtimeapi.ImageStatusResponse{Image: s.images.list[i]}, nil
}

// PullImage calls the function that OnPull set, and then adds the image.
func (s *Server) PullImage(ctx context.Context, r *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	s.images.mu.Lock()
	s.images.pulled = append(s.images.pulled, r)
	pull := s.images.pull
	s.images.mu.Unlock()
	if pull != nil {
		if err := pull(ctx, r); err != nil {
			return nil, err
		}
	}
	// The ID follows from the name, so tests know it.
	image := &runtimeapi.Image{Id: "sha256:of-" + r.GetImage().GetImage(), RepoTags: []string{r.GetImage().GetImage()}, Size: 1}
	s.images.mu.Lock()
	defer s.images.mu.Unlock()
	s.images.list = append(s.images.list, image)
	return &runtimeapi.PullImageResponse{ImageRef: image.GetId()}, nil
}
