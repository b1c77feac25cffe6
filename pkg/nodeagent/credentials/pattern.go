package credentials

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// pattern is which images something is for.
type pattern struct {
	host, port, path string
}

// parsePattern reads host[:port][/path], with or without a scheme and the version of the registry's protocol.
func parsePattern(text string) (pattern, error) {
	address := text
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		address = "https://" + address
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" {
		return pattern{}, fmt.Errorf("%q names no registry: write host, host:port or host/path", text)
	}
	p := pattern{host: parsed.Hostname(), port: parsed.Port(), path: parsed.Path}
	if strings.HasPrefix(p.path, "/v1/") || strings.HasPrefix(p.path, "/v2/") {
		p.path = p.path[len("/v1"):]
	}
	if p.path == "/" {
		p.path = ""
	}
	if _, err := path.Match(p.host, ""); err != nil {
		return pattern{}, fmt.Errorf("%q: the wildcard in its host cannot be read: %w", text, err)
	}
	return p, nil
}

// fits tells whether the pattern is for an image: the same port, as many parts of the host, each of which fits, and a path
// that begins the image's.
func (p pattern) fits(image pattern) bool {
	if p.port != image.port || !strings.HasPrefix(image.path, p.path) {
		return false
	}
	wanted, parts := strings.Split(p.host, "."), strings.Split(image.host, ".")
	if len(wanted) != len(parts) {
		return false
	}
	for i := range wanted {
		// A pattern was checked when it was read.
		if matched, err := path.Match(wanted[i], parts[i]); err != nil || !matched {
			return false
		}
	}
	return true
}

// String is the form that patterns are ordered by.
func (p pattern) String() string {
	if p.port == "" {
		return p.host + p.path
	}
	return p.host + ":" + p.port + p.path
}
