package inplace

import (
	"strings"

	"github.com/distribution/reference"
)

// sameImage tells whether a container that reports image and imageID runs the reference in the spec. A digest in the spec is
// all that counts; a short name is the one that a runtime makes of it.
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
