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

// imageReference is an image name in the forms for pulling and for comparing. The runtime gets the name as the user
// wrote it. Credentials and comparisons use the full name.
type imageReference struct {
	// asked is the name that the runtime gets: nginx:1.2, or nginx@sha256:….
	asked string
	// repository is the full name without tag or digest: docker.io/library/nginx. It selects the credentials.
	repository string
	// full is the full name with the tag or digest. digest is true if the reference uses a digest.
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
	r.asked = of.image + separator + of.tag
	// The name is checked alone first, because a name with a tag and another tag behind it could parse too.
	named, err := reference.ParseNormalizedNamed(of.image)
	if err == nil && !reference.IsNameOnly(named) {
		err = errors.New("the name already has a tag or digest")
	}
	if err != nil {
		return r, fmt.Errorf("%w %q: %w; use a name such as example.com/team/app", errReference, of.image, err)
	}
	full, err := reference.ParseNormalizedNamed(r.asked)
	if err != nil {
		return r, fmt.Errorf("%w %q: %w; use a tag such as v1 or a digest such as sha256:…", errReference, r.asked, err)
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
