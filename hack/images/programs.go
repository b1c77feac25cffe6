package images

// Registry is the host part of the local images' references. It names no server.
const Registry = "kruise.local"

// Program is an image to build.
type Program struct {
	// Name is the image's repository below Registry and, with Tag, the archive's file name.
	Name string
	// Package is the Go package of the program, relative to the module's root.
	Package string
	// Path is the program's place in the image, and its entry point.
	Path string
	// Tag is fixed; empty takes it from the content.
	Tag string
	// Variables are set at link time, by their full name.
	Variables map[string]string
	// BuildTags are Go's.
	BuildTags []string
}

// Programs are the images of the project, which the chart runs.
func Programs() []Program {
	return []Program{
		{Name: "apiserver", Package: "./cmd/apiserver", Path: "/kruise-apiserver"},
		{Name: "controller", Package: "./cmd/controller", Path: "/manager"},
		// One runs on every node: without gRPC's debugging pages the linker leaves out a third of it.
		{Name: "node-agent", Package: "./cmd/node-agent", Path: "/kruise-daemon", BuildTags: []string{"grpcnotrace"}},
	}
}

// Fixtures are the images that examples and tests use, and the sandbox of every local Pod.
func Fixtures() []Program {
	demo := func(version string) Program {
		return Program{
			Name: "demo", Package: "./test/images/demo", Path: "/demo", Tag: version,
			Variables: map[string]string{"main.version": version},
		}
	}
	return []Program{
		demo("v1"),
		demo("v2"),
		{Name: "pause", Package: "./test/images/pause", Path: "/pause", Tag: "1"},
	}
}

func (p Program) file() string {
	if p.Tag == "" {
		return p.Name
	}
	return p.Name + "-" + p.Tag
}
