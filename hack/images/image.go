package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the user ID of the programs, unless their Pod sets another. 65532 is the usual ID of users without
// privileges in minimal images.
const user = 65532

// epoch is the timestamp of all files in an image. The current time would change the digest.
var epoch = time.Unix(0, 0).UTC()

// newImage creates an image with one layer, which holds the program, a passwd file and /tmp.
func newImage(program Program, binary, architecture string) (v1.Image, error) {
	layer, err := newLayer(program.Path, binary)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, fmt.Errorf("append layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = architecture, "linux"
	config.Created = v1.Time{Time: epoch}
	config.History = []v1.History{{Created: v1.Time{Time: epoch}, CreatedBy: "hack/images " + program.Package}}
	config.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", user, user),
		Entrypoint: []string{program.Path},
		WorkingDir: "/",
		Env:        []string{"HOME=/tmp"},
		Labels:     map[string]string{"org.opencontainers.image.title": program.Name},
	}
	return mutate.ConfigFile(image, config)
}

// newLayer returns the layer with all files of the image. The order and the times are fixed, so the same program
// gives the same digest.
func newLayer(path, binary string) (v1.Layer, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read program: %w", err)
	}
	passwd := fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/tmp:/sbin/nologin\n", user, user)
	entries := []struct {
		header  tar.Header
		content []byte
	}{
		{header: tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755}},
		{header: tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644}, content: []byte(passwd)},
		{header: tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777, Uid: user, Gid: user}},
		{header: tar.Header{Name: strings.TrimPrefix(path, "/"), Typeflag: tar.TypeReg, Mode: 0o755}, content: program},
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, entry := range entries {
		entry.header.Size, entry.header.ModTime, entry.header.Format = int64(len(entry.content)), epoch, tar.FormatUSTAR
		if err := w.WriteHeader(&entry.header); err != nil {
			return nil, fmt.Errorf("write layer: %w", err)
		}
		if _, err := w.Write(entry.content); err != nil {
			return nil, fmt.Errorf("write layer: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write layer: %w", err)
	}
	// The layer is read several times: for its digest, its size, and its content.
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressedCaching, tarball.WithCompressionLevel(gzip.BestSpeed))
}
