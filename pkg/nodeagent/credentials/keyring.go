package credentials

import (
	"cmp"
	"slices"
	"strings"
)

// Credential is what a registry is offered. It has a name with a password, or a token.
type Credential struct {
	Username, Password string
	// IdentityToken is exchanged at the registry for an access token.
	IdentityToken string
	// RegistryToken is sent to the registry as it is.
	RegistryToken string
}

// dockerHub is the name under which credentials of the default registry are often kept, beside its own.
const (
	dockerHub    = "index.docker.io"
	dockerDomain = "docker.io"
)

// Keyring holds credentials and what they are for. The zero value is empty.
type Keyring struct {
	entries []entry
}

type entry struct {
	pattern    pattern
	credential Credential
}

// Add keeps a credential for the images that a pattern fits: host, optionally a port and the beginning of a path. A part of
// the host between dots may be a wildcard. One that is there already is not added again.
func (k *Keyring) Add(text string, credential Credential) error {
	parsed, err := parsePattern(text)
	if err != nil {
		return err
	}
	added := entry{parsed, credential}
	if !slices.Contains(k.entries, added) {
		k.entries = append(k.entries, added)
	}
	return nil
}

// Lookup returns the credentials that fit an image, the best first: of two patterns the longer one, and the one without a
// wildcard. Of one pattern they come as they were added. The image is its full name: docker.io/library/nginx.
func (k *Keyring) Lookup(image string) []Credential {
	target, err := parsePattern(image)
	if err != nil {
		return nil
	}
	var fitting, hub []entry
	for _, e := range k.entries {
		switch {
		case e.pattern.fits(target):
			fitting = append(fitting, e)
		case target.host == dockerDomain && e.pattern.host == dockerHub && strings.HasPrefix(target.path, e.pattern.path):
			hub = append(hub, e)
		}
	}
	descending := func(a, b entry) int { return cmp.Compare(b.pattern.String(), a.pattern.String()) }
	slices.SortStableFunc(fitting, descending)
	slices.SortStableFunc(hub, descending)
	var found []Credential
	for _, e := range append(fitting, hub...) {
		if !slices.Contains(found, e.credential) {
			found = append(found, e.credential)
		}
	}
	return found
}
