package credentials

import (
	"cmp"
	"slices"
	"strings"
)

// Credential is a login for a registry: a name and a password, or a token.
type Credential struct {
	Username, Password string
	// IdentityToken is exchanged at the registry for an access token.
	IdentityToken string
	// RegistryToken is sent to the registry unchanged.
	RegistryToken string
}

// dockerHub is another name of the default registry. Secrets often use it.
const (
	dockerHub    = "index.docker.io"
	dockerDomain = "docker.io"
)

// Keyring holds credentials and the image patterns they apply to. The zero value is empty. It is built for one
// attempt and not shared between goroutines.
type Keyring struct {
	entries []entry
}

// entry is one credential for one pattern.
type entry struct {
	pattern    pattern
	credential Credential
}

// Add stores a credential for the images that match a pattern. A pattern is a host with an optional port and path
// prefix. Each label of the host may contain wildcards. A duplicate is ignored.
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

// Lookup returns the credentials that match an image, the best match first. A longer pattern is better than a shorter
// one, and a pattern without a wildcard is better than one with a wildcard. Credentials of the same pattern keep the
// order of Add. image is the full name, for example docker.io/library/nginx.
func (k *Keyring) Lookup(image string) []Credential {
	// An image that cannot be parsed matches nothing. The pull reports what is wrong with it.
	target, err := parsePattern(image)
	if err != nil {
		return nil
	}
	var fitting, hub []entry
	// Entries for index.docker.io apply to images of docker.io, after all direct matches.
	for _, e := range k.entries {
		switch {
		case e.pattern.fits(target):
			fitting = append(fitting, e)
		case target.host == dockerDomain && e.pattern.host == dockerHub && strings.HasPrefix(target.path, e.pattern.path):
			hub = append(hub, e)
		}
	}
	// The reverse order of the texts puts a longer pattern before its prefix, and a letter before the wildcard.
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
