package images

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// nameAnnotation is the annotation that gives an imported image its name in containerd.
const nameAnnotation = "io.containerd.image.name"

// Image is one image in an archive.
type Image struct {
	// Ref is the full reference. Repository and Tag are its two parts.
	Ref, Repository, Tag string
	// Digest is the digest of the manifest.
	Digest string
	// Archive is the path of the OCI archive.
	Archive string
}

// archive writes the image of the program to path, unless the file already contains it. An unchanged file keeps its
// time, so nothing that depends on it is done again.
func archive(program Program, binary, path, architecture string) (Image, error) {
	image, err := newImage(program, binary, architecture)
	if err != nil {
		return Image{}, err
	}
	digest, err := image.Digest()
	if err != nil {
		return Image{}, fmt.Errorf("compute digest: %w", err)
	}
	// Twelve digits of the digest are enough to tell builds apart, and short enough to read.
	const short = 12
	tag := program.Tag
	if tag == "" {
		tag = digest.Hex[:short]
	}
	repository := Registry + "/" + program.Name
	result := Image{Ref: repository + ":" + tag, Repository: repository, Tag: tag, Digest: digest.String(), Archive: path}
	if current, err := Inspect(path); err == nil && current == result {
		return result, nil
	}
	if err := writeArchive(path, result.Ref, image, architecture); err != nil {
		return Image{}, fmt.Errorf("write %s: %w", path, err)
	}
	return result, nil
}

// file is an entry of a tar archive.
type file struct {
	name    string
	content []byte
}

// writeArchive writes an OCI image layout as a tar file. The index comes first, so that Inspect reads only a few
// bytes. The file appears by a rename, so a reader never sees a part of it.
func writeArchive(path, ref string, image v1.Image, architecture string) error {
	files, err := layoutFiles(ref, image, architecture)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".archive-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) //nolint:errcheck // Gone when the rename succeeded.
	if err := errors.Join(writeTar(out, files), out.Chmod(0o644), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}

// writeTar writes the files with fixed modes and times, so that equal contents give equal archives.
func writeTar(out io.Writer, files []file) error {
	w := tar.NewWriter(out)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	return w.Close()
}

// layoutFiles returns the files of an OCI image layout with one image. The annotations give the image its name when
// containerd imports it.
func layoutFiles(ref string, image v1.Image, architecture string) ([]file, error) {
	manifest, err := image.RawManifest()
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return nil, fmt.Errorf("encode config: %w", err)
	}
	mediaType, err := image.MediaType()
	if err != nil {
		return nil, err
	}
	digest, err := image.Digest()
	if err != nil {
		return nil, err
	}
	index, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, Manifests: []v1.Descriptor{{
		MediaType: mediaType, Digest: digest, Size: int64(len(manifest)),
		Platform:    &v1.Platform{OS: "linux", Architecture: architecture},
		Annotations: map[string]string{nameAnnotation: ref, "org.opencontainers.image.ref.name": ref},
	}}})
	if err != nil {
		return nil, fmt.Errorf("encode index: %w", err)
	}
	files := []file{
		{"index.json", index},
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{blobName(digest), manifest},
	}
	configDigest, err := image.ConfigName()
	if err != nil {
		return nil, err
	}
	files = append(files, file{blobName(configDigest), config})
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	for _, layer := range layers {
		blob, err := layerFile(layer)
		if err != nil {
			return nil, fmt.Errorf("read layer: %w", err)
		}
		files = append(files, blob)
	}
	return files, nil
}

// layerFile returns the compressed content of a layer.
func layerFile(layer v1.Layer) (file, error) {
	digest, err := layer.Digest()
	if err != nil {
		return file{}, err
	}
	content, err := layer.Compressed()
	if err != nil {
		return file{}, err
	}
	defer content.Close() //nolint:errcheck // Read only.
	var data bytes.Buffer
	_, err = data.ReadFrom(content)
	return file{blobName(digest), data.Bytes()}, err
}

// blobName returns the path of a blob in an OCI image layout.
func blobName(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

// Inspect returns the image in an archive of this package. It does not read the layers, and does not check their
// digests.
func Inspect(path string) (Image, error) {
	index, err := readIndex(path)
	if err != nil {
		return Image{}, fmt.Errorf("read image archive %s: %w", path, err)
	}
	if len(index.Manifests) != 1 || index.Manifests[0].Annotations[nameAnnotation] == "" {
		return Image{}, fmt.Errorf("read image archive %s: want one named image, found %d entries", path, len(index.Manifests))
	}
	entry := index.Manifests[0]
	image := Image{Ref: entry.Annotations[nameAnnotation], Digest: entry.Digest.String(), Archive: path}
	image.Repository, image.Tag = splitRef(image.Ref)
	return image, nil
}

// readIndex reads up to the index, which is the first file in archives of this package.
func readIndex(path string) (*v1.IndexManifest, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // Read only.
	r := tar.NewReader(in)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it holds no index.json")
		}
		if err != nil {
			return nil, err
		}
		if header.Name == "index.json" {
			return v1.ParseIndexManifest(r)
		}
	}
}
