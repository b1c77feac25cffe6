package images

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push uploads a program, compiled to binary, to a registry that speaks plain HTTP. The target is host:port/repository:tag.
func Push(ctx context.Context, program Program, binary, target string) (Image, error) {
	ref, err := name.ParseReference(target, name.Insecure)
	if err != nil {
		return Image{}, fmt.Errorf("push %s to %q: %w", program.Name, target, err)
	}
	image, err := newImage(program, binary, runtime.GOARCH)
	if err != nil {
		return Image{}, err
	}
	if err := remote.Write(ref, image, remote.WithContext(ctx)); err != nil {
		return Image{}, fmt.Errorf("push %s to %s: %w", program.Name, target, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return Image{}, fmt.Errorf("compute digest: %w", err)
	}
	repository, tag := splitRef(target)
	return Image{Ref: target, Repository: repository, Tag: tag, Digest: digest.String()}, nil
}

// splitRef parts a reference at the colon of its tag; one before a slash belongs to the host's port.
func splitRef(ref string) (repository, tag string) {
	i := strings.LastIndexByte(ref, ':')
	if i < 0 || strings.Contains(ref[i:], "/") {
		return ref, ""
	}
	return ref[:i], ref[i+1:]
}
