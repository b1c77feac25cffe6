package localcluster

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Config describes a cluster. The comment of each optional field names its default.
type Config struct {
	// Name distinguishes the clusters on one machine. It is part of their cgroup names. Required.
	Name string
	// Dir contains all state of the cluster. Down removes it. Required.
	Dir string
	// ModuleRoot is the checkout that the programs are built from. Required.
	ModuleRoot string
	// BinDir caches the programs. The default is <ModuleRoot>/.local/bin.
	BinDir string
	// LogDir contains a log file for each process. The default is <Dir>/log.
	LogDir string
	// Kubeconfig is the path of the administrator's kubeconfig. The default is <Dir>/kubeconfig.
	Kubeconfig string
	// Nodes is the number of real nodes, node-1 to node-N. Zero starts only a control plane.
	Nodes int
	// KWOKNodes is the number of simulated nodes, kwok-1 to kwok-N. With zero, KWOK does not run.
	KWOKNodes int
	// Registry starts an image registry that every node uses as the mirror of all other registries.
	Registry bool
	// MetricsServer serves the resource metrics API for the real nodes.
	MetricsServer bool
	// Storage creates a default StorageClass and runs its provisioner.
	Storage bool
	// Images lists archives that every real node imports. A node skips images that it already has.
	Images []string
	// KubernetesVersion is the version of the programs of Kubernetes, for example 1.34.4. The default is the version that
	// hack/localcluster/binaries/go.mod requires.
	KubernetesVersion string
	// Containerd is "2" to build containerd 2 and run it on the real nodes. The default is the containerd of the machine.
	Containerd string
	// ExtraArgs are appended to the arguments of control plane components, by component name.
	ExtraArgs map[string][]string
	// Owned ends the processes of the cluster with this process, however it ends. Tests set it, so that no cluster outlives a test that
	// was killed or has timed out. The state stays, and the next Up or Down cleans up.
	Owned bool
	// Out receives progress, one line for each step. The default is no output.
	Out io.Writer
}

// VersionVariable is the environment variable with the KubernetesVersion of the clusters of "make up" and of the tests.
const VersionVariable = "K8S_VERSION"

// ContainerdVariable is the environment variable with their Containerd.
const ContainerdVariable = "CONTAINERD"

// MainConfig returns the configuration of the cluster of "make up". All tests that use it share this cluster.
func MainConfig(moduleRoot string) Config {
	local := filepath.Join(moduleRoot, ".local")
	return Config{
		Name:          nameOf("main", moduleRoot),
		Dir:           filepath.Join(local, "clusters", "main"),
		ModuleRoot:    moduleRoot,
		LogDir:        filepath.Join(local, "log"),
		Kubeconfig:    filepath.Join(local, "kubeconfig"),
		Nodes:         3,
		Registry:      true,
		MetricsServer: true,
		Storage:       true,

		KubernetesVersion: os.Getenv(VersionVariable),
		Containerd:        os.Getenv(ContainerdVariable),
	}
}

// OwnedConfig returns the configuration of a cluster that belongs to a test. Its processes end with those of the test.
func OwnedConfig(moduleRoot, name string) Config {
	return Config{
		Name: nameOf(name, moduleRoot), Dir: filepath.Join(moduleRoot, ".local", "clusters", name), ModuleRoot: moduleRoot, Owned: true,
	}
}

// nameOf returns a different name for each checkout on a machine, because their clusters may run at the same time.
func nameOf(name, moduleRoot string) string {
	hash := fnv.New32a()
	hash.Write([]byte(moduleRoot))
	return fmt.Sprintf("%s-%08x", name, hash.Sum32())
}

// namePattern limits names, because they are a part of the names of cgroups and files.
var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// maxNodes limits the real nodes: each one has an address and a range of Pod addresses that follow from its number.
const maxNodes = 100

// validate returns all errors in the configuration.
func (c Config) validate() error {
	var errs []error
	if !namePattern.MatchString(c.Name) {
		errs = append(errs, fmt.Errorf("name %q: use 1 to 32 lower case letters, digits and dashes", c.Name))
	}
	for field, dir := range map[string]string{"dir": c.Dir, "moduleRoot": c.ModuleRoot} {
		if !filepath.IsAbs(dir) {
			errs = append(errs, fmt.Errorf("%s %q: use an absolute path", field, dir))
		}
	}
	for _, masked := range maskedDirs {
		if c.Dir == masked || strings.HasPrefix(c.Dir, masked+"/") {
			errs = append(errs, fmt.Errorf("dir %q: nodes have their own %s, use a folder outside it", c.Dir, masked))
		}
	}
	if c.Nodes < 0 || c.Nodes > maxNodes {
		errs = append(errs, fmt.Errorf("nodes %d: use 0 to %d", c.Nodes, maxNodes))
	}
	if c.KWOKNodes < 0 {
		errs = append(errs, fmt.Errorf("kwokNodes %d: use 0 or more", c.KWOKNodes))
	}
	errs = append(errs, checkKubernetesVersion(c.KubernetesVersion), checkContainerd(c.Containerd))
	return errors.Join(errs...)
}

// withDefaults returns the configuration with the defaults that the comments of the fields name.
func (c Config) withDefaults() Config {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&c.BinDir, filepath.Join(c.ModuleRoot, ".local", "bin"))
	set(&c.LogDir, filepath.Join(c.Dir, "log"))
	set(&c.Kubeconfig, filepath.Join(c.Dir, "kubeconfig"))
	if c.Out == nil {
		c.Out = io.Discard
	}
	return c
}
