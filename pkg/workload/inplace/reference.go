package inplace

import "strings"

// reference is an image reference in its parts, with the defaults of a runtime filled in.
type reference struct{ name, tag, digest string }

// parseReference reads "registry:5000/team/app:v1@sha256:…", every part but the name optional. A colon belongs to a tag
// only behind the last slash.
func parseReference(text string) reference {
	name, digest, _ := strings.Cut(text, "@")
	tag := ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag = name[:i], name[i+1:]
	}
	if tag == "" && digest == "" {
		tag = "latest"
	}
	return reference{name: qualified(name), tag: tag, digest: digest}
}

// qualified adds the registry and the folder that a short name leaves out.
func qualified(name string) string {
	host, _, found := strings.Cut(name, "/")
	switch {
	case !found:
		return "docker.io/library/" + name
	case strings.ContainsAny(host, ".:") || host == "localhost":
		return strings.Replace(name, "index.docker.io/", "docker.io/", 1)
	default:
		return "docker.io/" + name
	}
}

// sameImage tells whether a container that reports image and imageID runs the reference in the spec.
func sameImage(spec, image, imageID string) bool {
	if spec == image {
		return true
	}
	want, got := parseReference(spec), parseReference(image)
	if want.digest != "" {
		return got.digest == want.digest || strings.HasSuffix(imageID, "@"+want.digest) || strings.HasSuffix(imageID, "/"+want.digest)
	}
	return want.name == got.name && want.tag == got.tag
}
