package inplace

import (
	"strings"

	"github.com/distribution/reference"
)

// sameImage reports whether a container that reports image and imageID runs the reference in the spec. If the spec has a
// digest, only the digest counts. A short name equals the full name that a runtime makes of it. A reference that cannot be
// parsed equals only itself.
func sameImage(spec, image, imageID string) bool {
	if spec == image {
		return true
	}
	want, err := reference.ParseDockerRef(spec)
	if err != nil {
		return false
	}
	digested, byDigest := want.(reference.Digested)
	if byDigest {
		digest := digested.Digest().String()
		// Runtimes report the digest behind a name, or behind a scheme.
		if strings.HasSuffix(imageID, "@"+digest) || strings.HasSuffix(imageID, "/"+digest) {
			return true
		}
	}
	got, err := reference.ParseDockerRef(image)
	if err != nil {
		return false
	}
	if !byDigest {
		return want.String() == got.String()
	}
	reported, ok := got.(reference.Digested)
	return ok && reported.Digest() == digested.Digest()
}
