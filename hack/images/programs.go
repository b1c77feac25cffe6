package images

// Registry is the host part in the references of local images. No such server exists.
const Registry = "kruise.local"

// Program describes an image to build.
type Program struct {
	// Name is the repository of the image below Registry. If Tag is empty, it is also the file name of the archive.
	Name string
	// Package is the Go package of the program, relative to the root of the module.
	Package string
	// Path is the path of the program in the image. It is also the entry point.
	Path string
	// Tag is a fixed tag. If it is empty, the tag comes from the content.
	Tag string
	// Variables are set at link time, by their full names.
	Variables map[string]string
	// BuildTags are Go build tags.
	BuildTags []string
}

// Programs returns the images that the chart runs. Their names are those of the values of the chart, see hack/local.
func Programs() []Program {
	return []Program{
		{Name: "apiserver", Package: "./cmd/apiserver", Path: "/kruise-apiserver"},
		{Name: "controller", Package: "./cmd/controller", Path: "/manager"},
		// The node agent runs on every node. Without the debugging pages of gRPC, the linker drops a third of the program.
		{Name: "node-agent", Package: "./cmd/node-agent", Path: "/kruise-daemon", BuildTags: []string{"grpcnotrace"}},
	}
}

// Plugin returns the plugin of kubectl. Users run it: it has no image.
func Plugin() Program { return Program{Name: "kubectl-kruise", Package: "./cmd/kubectl-kruise"} }

// Fixtures returns the images that examples and tests use, and the sandbox image of local Pods. Their tags are fixed,
// because manifests name them. Several versions of one program let tests update Pods.
func Fixtures() []Program {
	demo := func(version string) Program {
		return Program{
			Name: "demo", Package: "./test/images/demo", Path: "/demo", Tag: version,
			Variables: map[string]string{"main.version": version},
		}
	}
	mesh := func(version string) Program {
		return Program{
			Name: "mesh", Package: "./test/images/mesh", Path: "/mesh", Tag: version,
			Variables: map[string]string{"main.version": version},
		}
	}
	return []Program{
		demo("v1"),
		demo("v2"),
		{Name: "pause", Package: "./test/images/pause", Path: "/pause", Tag: "1"},
		mesh("v1"),
		mesh("v2"),
		mesh("empty"),
		{Name: "game", Package: "./test/images/game", Path: "/game", Tag: "v1"},
		{Name: "openkruise", Package: "./test/images/openkruise", Path: "/openkruise", Tag: "v1"},
	}
}

// file returns the name of the program and of its archive without their folders.
func (p Program) file() string {
	if p.Tag == "" {
		return p.Name
	}
	return p.Name + "-" + p.Tag
}
