package localcluster

import (
	"context"
	"fmt"
)

const (
	containerdModule = "github.com/containerd/containerd/v2"
	// containerdVersion is the version of containerd 2 that is built. The machine has containerd 1.6 of Debian.
	containerdVersion = "v2.4.2"
	// builtContainerd is the value of Config.Containerd that selects it.
	builtContainerd = "2"
)

// checkContainerd accepts an empty value, which means the containerd of the machine, and the major version that can be built.
func checkContainerd(version string) error {
	if version == "" || version == builtContainerd {
		return nil
	}
	return fmt.Errorf("containerd %q: use %s, or leave it empty for the containerd of the machine", version, builtContainerd)
}

func (c Config) buildsContainerd() bool { return c.Containerd == builtContainerd }

// containerdTools returns the folder of the module that builds containerd, its shim and its client. Containerd has a module of its own,
// because it needs other versions of its dependencies than the other tools.
func (c *Cluster) containerdTools(ctx context.Context) (dir string, err error) {
	return c.toolModule(ctx, containerdModule, containerdVersion, func() (string, error) { return "module containerd\n\ngo 1.26.0\n", nil })
}

// runtimeProgram returns the path of containerd or of its client ctr. Programs of the machine are found on PATH.
func (c *Cluster) runtimeProgram(name string) string {
	if c.cfg.buildsContainerd() {
		return c.Binary(name)
	}
	return name
}

// runtimeTemplate returns the template of the configuration file. The plugins of containerd 2 have other names.
func (c *Cluster) runtimeTemplate() string {
	if c.cfg.buildsContainerd() {
		return "containerd-2.toml"
	}
	return "containerd.toml"
}
