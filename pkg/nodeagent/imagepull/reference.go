package imagepull

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// errReference tells that no runtime could be asked for the image, however often.
var errReference = errors.New("invalid image reference")

// imageReference is an image as it is asked for, and as it is compared.
type imageReference struct {
	// asked is what the runtime is given: nginx:1.2, or nginx@sha256:….
	asked string
	// repository is the full name, which credentials are found by: docker.io/library/nginx.
	repository string
	// full is the full name with the tag or digest, digest says which of both.
	full   string
	digest bool
}

// newReference joins a name and a tag, which may be a digest.
func newReference(of imageTag) (imageReference, error) {
	r := imageReference{digest: strings.Contains(of.tag, ":")}
	separator := ":"
	if r.digest {
		separator = "@"
	}
	r.asked = of.image + separator + of.tag
	named, err := reference.ParseNormalizedNamed(of.image)
	if err == nil && !reference.IsNameOnly(named) {
		err = errors.New("the name has a tag or digest of its own")
	}
	if err != nil {
		return r, fmt.Errorf("%w %q: %w; name the image like example.com/team/app", errReference, of.image, err)
	}
	full, err := reference.ParseNormalizedNamed(r.asked)
	if err != nil {
		return r, fmt.Errorf("%w %q: %w; give a tag like v1 or a digest like sha256:…", errReference, r.asked, err)
	}
	r.repository, r.full = named.Name(), full.String()
	return r, nil
}

// names tells whether a runtime's image is the one that is asked for.
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
