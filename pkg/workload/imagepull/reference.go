package imagepull

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"
)

// Reference is an image as NodeImages name it: two ways to write one image are one Reference.
type Reference struct {
	// Name is what users write, without what every runtime adds: "nginx" for "docker.io/library/nginx".
	Name string
	// Tag is a tag, or a digest like "sha256:…", which wins over a tag.
	Tag string
}

// Parse reads an image as users write it.
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

// String is the reference as a runtime takes it.
func (r Reference) String() string {
	if strings.Contains(r.Tag, ":") {
		return r.Name + "@" + r.Tag
	}
	return r.Name + ":" + r.Tag
}
