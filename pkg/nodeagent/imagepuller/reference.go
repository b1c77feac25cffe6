package imagepuller

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// errReference means that the image name is invalid. A retry cannot help.
var errReference = errors.New("invalid image reference")

// imageReference is an image name. The runtime gets the full name, for which the credentials are chosen. It could find another
// registry for a short name, and would send the credentials there.
type imageReference struct {
	// repository is the full name without tag or digest: docker.io/library/nginx. It selects the credentials.
	repository string
	// full is the full name with the tag or digest: docker.io/library/nginx:1.2, or docker.io/library/nginx@sha256:….
	// digest is true if the reference uses a digest.
	full   string
	digest bool
}

// newReference joins an image name and a tag. The tag may be a digest.
func newReference(of imageTag) (imageReference, error) {
	r := imageReference{digest: strings.Contains(of.tag, ":")}
	separator := ":"
	if r.digest {
		separator = "@"
	}
	short := of.image + separator + of.tag
	// The name is checked alone first, because a name with a tag and another tag behind it could parse too.
	named, err := reference.ParseNormalizedNamed(of.image)
	if err == nil && !reference.IsNameOnly(named) {
		err = errors.New("the name already has a tag or digest")
	}
	if err != nil {
		return r, fmt.Errorf("%w %q: %w; use a name such as example.com/team/app", errReference, of.image, err)
	}
	full, err := reference.ParseNormalizedNamed(short)
	if err != nil {
		return r, fmt.Errorf("%w %q: %w; use a tag such as v1 or a digest such as sha256:…", errReference, short, err)
	}
	r.repository, r.full = named.Name(), full.String()
	return r, nil
}

// names returns true if image is the referenced image. An image that the runtime has under other names only does not
// count.
func (r imageReference) names(image *runtimeapi.Image) bool {
	known := image.GetRepoTags()
	if r.digest {
		known = image.GetRepoDigests()
	}
	return slices.ContainsFunc(known, func(text string) bool {
		named, err := reference.ParseNormalizedNamed(text)
		return err == nil && named.String() == r.full
	})
}
