package localcluster

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"path/filepath"
	"regexp"
	"strings"
)

// Config describes a cluster. The zero value of each optional field is the default that its comment names.
type Config struct {
	// Name distinguishes clusters on one machine: it names their cgroups. Required.
	Name string
	// Dir holds all state of the cluster and is removed by Down. Required.
	Dir string
	// ModuleRoot is the checkout that the programs are built from. Required.
	ModuleRoot string
	// BinDir caches the programs; default <ModuleRoot>/.local/bin.
	BinDir string
	// LogDir takes a file for each process; default <Dir>/log.
	LogDir string
	// Kubeconfig is where the administrator's kubeconfig is written; default <Dir>/kubeconfig.
	Kubeconfig string
	// Nodes is the number of real nodes, node-1 to node-N. Zero starts a control plane alone.
	Nodes int
	// KWOKNodes is the number of simulated nodes, kwok-1 to kwok-N. Zero does not start KWOK.
	KWOKNodes int
	// Registry starts an image registry that every node uses as the mirror of all others.
	Registry bool
	// MetricsServer serves the resource metrics API from the real nodes.
	MetricsServer bool
	// Storage creates a default StorageClass and runs its provisioner.
	Storage bool
	// Images are archives that every real node gets; what a node already has is not imported again.
	Images []string
	// ExtraArgs are appended to the arguments of a control plane component, by its name.
	ExtraArgs map[string][]string
	// Out receives progress, one line for each step; default none.
	Out io.Writer
}

// MainConfig is the cluster of "make up": every test that asks for it by this configuration means the same one.
func MainConfig(moduleRoot string) Config {
	local := filepath.Join(moduleRoot, ".local")
	return Config{
		Name:          mainName(moduleRoot),
		Dir:           filepath.Join(local, "clusters", "main"),
		ModuleRoot:    moduleRoot,
		LogDir:        filepath.Join(local, "log"),
		Kubeconfig:    filepath.Join(local, "kubeconfig"),
		Nodes:         3,
		Registry:      true,
		MetricsServer: true,
		Storage:       true,
	}
}

// mainName differs between the checkouts of one machine, whose clusters may run side by side.
func mainName(moduleRoot string) string {
	hash := fnv.New32a()
	hash.Write([]byte(moduleRoot))
	return fmt.Sprintf("main-%08x", hash.Sum32())
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

const maxNodes = 100

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
	return errors.Join(errs...)
}

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
