// Package registrytest runs image registries for tests of real pulls. They can fail in the ways that real registries
// fail. They store their images in memory and use plain HTTP. Enter at Start.
package registrytest

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"
)

// Username and Password are the login that Guarded requires.
const (
	Username = "jane"
	Password = "open sesame"
)

// Behaviour changes how a registry answers pull requests.
type Behaviour func(http.Handler) http.Handler

// Guarded requires Username and Password.
func Guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name == Username && password == Password {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
	})
}

// Hanging accepts requests and never answers.
func Hanging(http.Handler) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
}

// Failing answers every request with 503 Service Unavailable.
func Failing(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
}

// Dropping closes the connection after it has sent part of a layer.
func Dropping(next http.Handler) http.Handler {
	const part = 64 << 10
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			w = &cut{ResponseWriter: w, left: part}
		}
		next.ServeHTTP(w, r)
	})
}

// cut is a response that breaks off after left bytes.
type cut struct {
	http.ResponseWriter
	left int
}

// Write closes the connection when the limit is reached.
func (c *cut) Write(data []byte) (int, error) {
	if len(data) <= c.left {
		c.left -= len(data)
		return c.ResponseWriter.Write(data)
	}
	n, err := c.ResponseWriter.Write(data[:c.left])
	c.left -= n
	// The data is flushed before the connection is closed, so the client gets the first part.
	control := http.NewResponseController(c.ResponseWriter)
	err = errors.Join(err, control.Flush())
	connection, _, hijackErr := control.Hijack()
	if err = errors.Join(err, hijackErr); hijackErr != nil {
		return n, err
	}
	return n, errors.Join(err, connection.Close(), errCut)
}

// errCut is the error that the registry gets when the connection was closed.
var errCut = errors.New("the connection was cut")

// Registry is a running registry.
type Registry struct {
	// Host is the address and port of the registry.
	Host string
}

// Start runs a registry at a local address until the end of the test.
func Start(t *testing.T, address string, behaviours ...Behaviour) *Registry {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	require.NoError(t, err)
	good := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	pulls := good
	// The last behaviour is the outermost one.
	for _, behaviour := range behaviours {
		pulls = behaviour(pulls)
	}
	// Requests of Push bypass the behaviours.
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.UserAgent(), pusher) {
			good.ServeHTTP(w, r)
			return
		}
		pulls.ServeHTTP(w, r)
	})}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return &Registry{Host: listener.Addr().String()}
}

// pusher is the user agent of the requests of Push.
const pusher = "registrytest"

// Image returns an image with one layer of size random bytes.
func Image(t *testing.T, architecture string, size int64) v1.Image {
	t.Helper()
	image, err := random.Image(size, 1)
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	// The image caches its configuration, which must not change.
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	image, err = mutate.ConfigFile(image, config)
	require.NoError(t, err)
	return image
}

// Push uploads an image as repository:tag and returns its digest.
func (r *Registry) Push(t *testing.T, reference string, image v1.Image) string {
	t.Helper()
	require.NoError(t, remote.Write(r.reference(t, reference), image, r.options(t.Context())...))
	digest, err := image.Digest()
	require.NoError(t, err)
	return digest.String()
}

// PushList uploads a manifest list with one image for each architecture, and returns its digest.
func (r *Registry) PushList(t *testing.T, reference string, images map[string]v1.Image) string {
	t.Helper()
	index := mutate.IndexMediaType(empty.Index, types.DockerManifestList)
	for architecture, image := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	require.NoError(t, remote.WriteIndex(r.reference(t, reference), index, r.options(t.Context())...))
	digest, err := index.Digest()
	require.NoError(t, err)
	return digest.String()
}

// reference returns the reference of a name in this registry. Insecure means plain HTTP.
func (r *Registry) reference(t *testing.T, text string) name.Reference {
	t.Helper()
	reference, err := name.ParseReference(r.Host+"/"+text, name.Insecure)
	require.NoError(t, err)
	return reference
}

// options let Push pass by the behaviours, by its user agent.
func (r *Registry) options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithUserAgent(pusher), remote.WithAuth(authn.Anonymous)}
}

// Closed returns a local address with a port that no process listens on.
func Closed(t *testing.T, address string) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}
