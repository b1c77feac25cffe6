package imagetag

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Cases image-predownload 33, 34.
func TestParse(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	tests := map[string]struct{ image, name, tag, asked string }{
		"short":                           {"nginx", "nginx", "latest", "nginx:latest"},
		"with registry":                   {"docker.io/library/busybox", "busybox", "latest", "busybox:latest"},
		"with tag":                        {"busybox:latest", "busybox", "latest", "busybox:latest"},
		"registry and tag":                {"docker.io/library/nginx:1.2", "nginx", "1.2", "nginx:1.2"},
		"folder":                          {"docker.io/foo/bar:1", "foo/bar", "1", "foo/bar:1"},
		"port":                            {"reg:5000/a/b:1", "reg:5000/a/b", "1", "reg:5000/a/b:1"},
		"port, no tag":                    {"reg:5000/a/b", "reg:5000/a/b", "latest", "reg:5000/a/b:latest"},
		"digest":                          {"nginx@" + digest, "nginx", digest, "nginx@" + digest},
		"the digest, not a tag":           {"nginx:1.2@" + digest, "nginx", digest, "nginx@" + digest},
		"digest, of a registry with port": {"reg:5000/a@" + digest, "reg:5000/a", digest, "reg:5000/a@" + digest},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.image)
			require.NoError(t, err)
			assert.Equal(t, Reference{Name: tc.name, Tag: tc.tag}, got)
			assert.Equal(t, tc.asked, got.String())
		})
	}
	_, err := Parse("a b")
	assert.ErrorContains(t, err, `image "a b"`)
}
