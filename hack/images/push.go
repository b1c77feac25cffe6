package images

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push uploads a compiled program to a registry over plain HTTP. target is host:port/repository:tag. The registry is
// one of a test, so there are no credentials.
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

// PushArchive uploads the image in an archive to a registry over plain HTTP. It keeps the repository and tag of the
// image and replaces its registry.
func PushArchive(ctx context.Context, archive, registry string) error {
	inspected, err := Inspect(archive)
	if err != nil {
		return err
	}
	_, path, found := strings.Cut(inspected.Ref, "/")
	if !found {
		return fmt.Errorf("push %s: the image %q names no registry", archive, inspected.Ref)
	}
	ref, err := name.ParseReference(registry+"/"+path, name.Insecure)
	if err != nil {
		return fmt.Errorf("push %s: %w", archive, err)
	}
	// The library reads a layout from a folder, so the archive is unpacked.
	dir, err := os.MkdirTemp("", "kruise-image-")
	if err != nil {
		return fmt.Errorf("push %s: %w", archive, err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // A folder for temporary files.
	if err := unpack(archive, dir); err != nil {
		return fmt.Errorf("read image archive %s: %w", archive, err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return fmt.Errorf("read image archive %s: %w", archive, err)
	}
	digest, err := v1.NewHash(inspected.Digest)
	if err != nil {
		return fmt.Errorf("read image archive %s: %w", archive, err)
	}
	image, err := index.Image(digest)
	if err != nil {
		return fmt.Errorf("read image archive %s: %w", archive, err)
	}
	if err := remote.Write(ref, image, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("push %s to %s: %w", inspected.Ref, registry, err)
	}
	return nil
}

// unpack extracts an archive of this package into a folder. It refuses names that lead out of the folder.
func unpack(archive, dir string) error {
	in, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // Read only.
	r := tar.NewReader(in)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("%q leads out of the archive", header.Name)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, header.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o600)); err != nil {
			return err
		}
	}
}

// splitRef splits a reference at the colon of its tag. A colon before a slash belongs to the port of the registry.
func splitRef(ref string) (repository, tag string) {
	i := strings.LastIndexByte(ref, ':')
	if i < 0 || strings.Contains(ref[i:], "/") {
		return ref, ""
	}
	return ref[:i], ref[i+1:]
}
