package imagepuller

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestFailuresHaveWords maps error texts of real runtimes and registries to the messages that users read.
// TestFailuresOfRealPulls checks those that a local containerd can produce.
func TestFailuresHaveWords(t *testing.T) {
	const resolve = `failed to pull and unpack image "docker.io/library/nginx:1": failed to resolve reference "docker.io/library/nginx:1": `
	tests := map[string]struct {
		err     error
		offered bool
		want    string
	}{
		"wrong password, basic":  {errors.New(resolve + "pulling from host example.com failed with status code [manifests 1]: 401 Unauthorized"), true, refused},
		"wrong password, token":  {errors.New(resolve + "failed to authorize: failed to fetch oauth token: unexpected status: 401 Unauthorized"), true, refused},
		"forbidden":              {errors.New(resolve + "unexpected status from HEAD request to https://example.com/v2/: 403 Forbidden"), true, refused},
		"nothing was offered":    {errors.New(resolve + "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed"), false, noCredentials},
		"a code for permissions": {status.Error(codes.PermissionDenied, "no"), true, refused},
		"no tag":                 {status.Error(codes.NotFound, resolve+"docker.io/library/nginx:1: not found"), false, absent},
		"no tag, CRI-O":          {errors.New("reading manifest 1 in docker.io/library/nginx: manifest unknown"), false, absent},
		"no listener":            {errors.New(resolve + `failed to do request: Head "https://example.com/v2/": dial tcp 10.0.0.1:443: connect: connection refused`), false, unreachable},
		"no name":                {errors.New(resolve + `failed to do request: Head "https://example.com/v2/": dial tcp: lookup example.com on 10.0.0.10:53: no such host`), false, unreachable},
		"no route":               {errors.New("dial tcp 10.0.0.1:443: connect: no route to host"), false, unreachable},
		"no answer":              {errors.New(resolve + `failed to do request: Head "https://example.com/v2/": dial tcp 10.0.0.1:443: i/o timeout`), false, silent},
		"no handshake":           {errors.New(resolve + `failed to do request: Head "https://example.com/v2/": net/http: TLS handshake timeout`), false, silent},
		"cut off":                {errors.New(`failed to pull and unpack image "docker.io/library/nginx:1": failed to read expected number of bytes: unexpected EOF`), false, interrupted},
		"reset":                  {errors.New(`failed to copy: read tcp 10.0.0.2:5->10.0.0.1:443: read: connection reset by peer`), false, interrupted},
		"too short":              {status.Error(codes.FailedPrecondition, "failed commit on ref: failed size validation: 5 != 9: failed precondition"), false, interrupted},
		"disk":                   {errors.New("failed to copy: write /var/lib/containerd/ingest/data: no space left on device"), false, diskFull},
		"certificate":            {errors.New("failed to do request: tls: failed to verify certificate: x509: certificate signed by unknown authority"), false, untrusted},
		"plain HTTP":             {errors.New("http: server gave HTTP response to HTTPS client"), false, untrusted},
		"too often":              {errors.New("429 Too Many Requests - Server message: toomanyrequests: You have reached your pull rate limit"), false, throttled},
		"lost content":           {status.Error(codes.NotFound, "blob sha256:c2 expected at /var/lib/containerd/blobs/sha256/c2: blob not found: not found"), false, lost},
		"no platform":            {status.Error(codes.NotFound, "no match for platform in manifest: not found"), false, noPlatform},
		"the registry is broken": {errors.New("failed with status code [manifests 1]: 503 Service Unavailable"), false, registryFailure},
		"other content":          {errors.New(`unexpected commit digest sha256:1, expected sha256:2: failed precondition`), false, corrupt},
		"no runtime":             {status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial unix /run/containerd.sock: connect: connection refused"`), false, noRuntime},
		"the runtime went":       {status.Error(codes.Unavailable, "error reading from server: EOF"), false, noRuntime},
		"the runtime hangs":      {status.Error(codes.Unavailable, `connection error: desc = "error reading server preface: context deadline exceeded"`), false, noRuntime},
		"no reference":           {status.Error(codes.InvalidArgument, `failed to parse image reference: invalid reference format`), false, "invalid image reference"},
		"something else":         {errors.New("layers are on strike"), false, ""},
		"a name that misleads":   {errors.New(`pulling "docker.io/library/nginx:1" failed`), false, ""},
	}
	ref, err := newReference(imageTag{"nginx", "1"})
	require.NoError(t, err)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := test.err.Error()
			if test.want != "" {
				want = fmt.Sprintf("%s: %v", test.want, test.err)
			}
			got := explain(test.err, ref, test.offered)
			assert.Equal(t, want, got.Error())
			assert.ErrorIs(t, got, test.err)
			assert.Equal(t, test.want == noRuntime, errors.As(got, &awayError{}), "an outage of the runtime is no attempt")
		})
	}
	assert.NoError(t, explain(nil, ref, false))
}

func TestImageNameIsNotACause(t *testing.T) {
	ref, err := newReference(imageTag{"example.com/unauthorized", "x509"})
	require.NoError(t, err)
	failure := errors.New(`failed to pull "example.com/unauthorized:x509": connection refused`)
	assert.Equal(t, unreachable+": "+failure.Error(), explain(failure, ref, false).Error())
}
