package credentials

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// pattern selects images by host, port and path. An image itself is a pattern without wildcards. The path has a
// leading slash, or is empty.
type pattern struct {
	host, port, path string
}

// parsePattern parses host[:port][/path]. It ignores a scheme and the protocol version of the registry.
func parsePattern(text string) (pattern, error) {
	address := text
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		address = "https://" + address
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" {
		return pattern{}, fmt.Errorf("%q is not a registry; use host, host:port or host/path", text)
	}
	p := pattern{host: parsed.Hostname(), port: parsed.Port(), path: parsed.Path}
	// Docker configurations often contain the URL of the registry's API, such as https://index.docker.io/v1/.
	if strings.HasPrefix(p.path, "/v1/") || strings.HasPrefix(p.path, "/v2/") {
		p.path = p.path[len("/v1"):]
	}
	if p.path == "/" {
		p.path = ""
	}
	if _, err := path.Match(p.host, ""); err != nil {
		return pattern{}, fmt.Errorf("%q: invalid wildcard in the host: %w", text, err)
	}
	return p, nil
}

// fits returns true if the pattern matches an image. The ports must be equal, the hosts must have the same number of
// labels and each label must match, and the path must be a prefix of the image's path.
func (p pattern) fits(image pattern) bool {
	if p.port != image.port || !strings.HasPrefix(image.path, p.path) {
		return false
	}
	wanted, parts := strings.Split(p.host, "."), strings.Split(image.host, ".")
	if len(wanted) != len(parts) {
		return false
	}
	for i := range wanted {
		// parsePattern has checked the pattern, so Match returns no error.
		if matched, err := path.Match(wanted[i], parts[i]); err != nil || !matched {
			return false
		}
	}
	return true
}

// String returns the form that is used to sort patterns.
func (p pattern) String() string {
	if p.port == "" {
		return p.host + p.path
	}
	return p.host + ":" + p.port + p.path
}
