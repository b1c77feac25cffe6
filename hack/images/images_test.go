package images

import (
	"archive/tar"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func writeProgram(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o700))
	return path
}

// TestDigestFollowsContent builds images at different times and places.
func TestDigestFollowsContent(t *testing.T) {
	t.Parallel()
	program := Program{Name: "apiserver", Package: "./cmd/apiserver", Path: "/kruise-apiserver"}
	make := func(content string) Image {
		image, err := archive(program, writeProgram(t, content), filepath.Join(t.TempDir(), "image.tar"), "amd64")
		require.NoError(t, err)
		return image
	}
	one, again, other := make("one"), make("one"), make("two")
	assert.Equal(t, one.Ref, again.Ref)
	assert.Equal(t, one.Digest, again.Digest)
	assert.NotEqual(t, one.Digest, other.Digest)
	assert.NotEqual(t, one.Tag, other.Tag, "a changed program must change the Deployment")
	assert.Regexp(t, `^kruise\.local/apiserver:[0-9a-f]{12}$`, one.Ref)

	first, err := os.ReadFile(one.Archive)
	require.NoError(t, err)
	second, err := os.ReadFile(again.Archive)
	require.NoError(t, err)
	assert.Equal(t, first, second, "the archives differ though the images do not")
}

func TestInspect(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "demo.tar")
	want, err := archive(Fixtures()[0], writeProgram(t, "x"), path, "arm64")
	require.NoError(t, err)
	got, err := Inspect(path)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, "kruise.local/demo:v1", got.Ref)
	index, err := readIndex(path)
	require.NoError(t, err)
	assert.Equal(t, "linux/arm64", index.Manifests[0].Platform.String())

	_, err = Inspect(writeProgram(t, "no archive"))
	require.ErrorContains(t, err, "read image archive")
}

// TestPushArchive checks that a pushed archive has the same digest as on nodes that import it.
func TestPushArchive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "demo.tar")
	want, err := archive(Fixtures()[0], writeProgram(t, "x"), path, "amd64")
	require.NoError(t, err)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for range 2 {
		require.NoError(t, PushArchive(t.Context(), path, host))
	}
	ref, err := name.ParseReference(host+"/demo:v1", name.Insecure)
	require.NoError(t, err)
	image, err := remote.Image(ref)
	require.NoError(t, err)
	digest, err := image.Digest()
	require.NoError(t, err)
	assert.Equal(t, want.Digest, digest.String())
	require.NoError(t, validate.Image(image), "with all of its layers")

	require.ErrorContains(t, PushArchive(t.Context(), writeProgram(t, "no archive"), host), "read image archive")
}

// TestImage checks what a container gets: its user, its entry point and its files.
func TestImage(t *testing.T) {
	t.Parallel()
	image, err := newImage(Programs()[1], writeProgram(t, "binary"), "arm64")
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, "65532:65532", config.Config.User)
	assert.Equal(t, []string{"/manager"}, config.Config.Entrypoint)
	assert.Equal(t, "linux", config.OS)
	assert.Equal(t, "arm64", config.Architecture)
	layers, err := image.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 1)
	content, err := layers[0].Uncompressed()
	require.NoError(t, err)
	defer content.Close() //nolint:errcheck // Read only.
	files := map[string]int64{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		files[header.Name] = header.Mode
		assert.Equal(t, epoch, header.ModTime.UTC(), header.Name)
		if header.Name == "tmp/" {
			assert.Equal(t, user, header.Uid)
		}
	}
	assert.Equal(t, map[string]int64{"etc/": 0o755, "etc/passwd": 0o644, "tmp/": 0o1777, "manager": 0o755}, files)
}

func TestSplitRef(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string][2]string{
		"kruise.local/demo:v1":  {"kruise.local/demo", "v1"},
		"10.64.0.1:5000/demo":   {"10.64.0.1:5000/demo", ""},
		"10.64.0.1:5000/a/b:v2": {"10.64.0.1:5000/a/b", "v2"},
	} {
		repository, tag := splitRef(ref)
		assert.Equal(t, want, [2]string{repository, tag})
	}
}
