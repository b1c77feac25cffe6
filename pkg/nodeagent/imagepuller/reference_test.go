package imagepuller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Case image-predownload 33.
func TestReference(t *testing.T) {
	tests := map[string]struct {
		of   imageTag
		want imageReference
		err  string
	}{
		"short":       {imageTag{"nginx", "1.2"}, imageReference{"docker.io/library/nginx", "docker.io/library/nginx:1.2", false}, ""},
		"of somebody": {imageTag{"foo/bar", "1"}, imageReference{"docker.io/foo/bar", "docker.io/foo/bar:1", false}, ""},
		"with a port": {imageTag{"reg:5000/a/b", "1"}, imageReference{"reg:5000/a/b", "reg:5000/a/b:1", false}, ""},
		"digest": {imageTag{"nginx", someDigest}, imageReference{
			"docker.io/library/nginx", "docker.io/library/nginx@" + someDigest, true}, ""},
		"upper case":        {imageTag{"Nginx", "1"}, imageReference{}, `invalid image reference "Nginx"`},
		"a tag in the name": {imageTag{"nginx:1", "2"}, imageReference{}, "the name already has a tag or digest"},
		"a blank":           {imageTag{"nginx", "1 2"}, imageReference{}, `invalid image reference "nginx:1 2"`},
		"half a digest":     {imageTag{"nginx", "sha256:abc"}, imageReference{}, `invalid image reference "nginx@sha256:abc"`},
		"no tag":            {imageTag{"nginx", ""}, imageReference{}, `invalid image reference "nginx:"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := newReference(test.of)
			if test.err != "" {
				require.ErrorIs(t, err, errReference)
				assert.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}
