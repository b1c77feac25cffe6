package imagetag

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"
)

// Reference is an image as NodeImages name it. Two spellings of the same image are equal References.
type Reference struct {
	// Name is the name as users write it, without the parts that every runtime adds: "nginx" for "docker.io/library/nginx".
	Name string
	// Tag is a tag, or a digest like "sha256:…". A digest takes precedence over a tag.
	Tag string
}

// Parse parses an image as users write it. Without a tag and a digest, the tag is "latest". It returns an error if the image is
// no valid reference.
func Parse(image string) (Reference, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return Reference{}, fmt.Errorf("image %q: %w", image, err)
	}
	parsed := Reference{Name: reference.FamiliarName(named)}
	if digested, ok := named.(reference.Digested); ok {
		parsed.Tag = digested.Digest().String()
		return parsed, nil
	}
	if tagged, ok := reference.TagNameOnly(named).(reference.Tagged); ok {
		parsed.Tag = tagged.Tag()
	}
	return parsed, nil
}

// String returns the reference in the form that a runtime accepts.
func (r Reference) String() string {
	if strings.Contains(r.Tag, ":") {
		return r.Name + "@" + r.Tag
	}
	return r.Name + ":" + r.Tag
}
