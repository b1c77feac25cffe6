package localcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kruise.io/kruise/hack/images"
)

// tool is a program that is built from a module other than this one.
type tool struct {
	name   string
	pkg    string
	module string
}

// tools is the one table of them; hack/localcluster/binaries/go.mod pins their versions.
func tools() []tool {
	const kubernetes = "k8s.io/kubernetes"
	return []tool{
		{name: "etcd", pkg: "go.etcd.io/etcd/server/v3", module: "go.etcd.io/etcd/server/v3"},
		{name: "kubectl", pkg: kubernetes + "/cmd/kubectl", module: kubernetes},
		{name: "kube-apiserver", pkg: kubernetes + "/cmd/kube-apiserver", module: kubernetes},
		{name: "kube-controller-manager", pkg: kubernetes + "/cmd/kube-controller-manager", module: kubernetes},
		{name: "kube-scheduler", pkg: kubernetes + "/cmd/kube-scheduler", module: kubernetes},
		{name: "kube-proxy", pkg: kubernetes + "/cmd/kube-proxy", module: kubernetes},
		{name: "kubelet", pkg: kubernetes + "/cmd/kubelet", module: kubernetes},
		{name: "metrics-server", pkg: "sigs.k8s.io/metrics-server/cmd/metrics-server", module: "sigs.k8s.io/metrics-server"},
		{name: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", module: "sigs.k8s.io/kwok"},
		{name: "helm", pkg: "helm.sh/helm/v3/cmd/helm", module: "helm.sh/helm/v3"},
	}
}

// Binary is the path of a program by its name: kubectl, helm, etcd, kube-apiserver and so on. Up and BuildBinaries put them there.
func (c *Cluster) Binary(name string) string { return filepath.Join(c.cfg.BinDir, name) }

// initPath is the program that holds the cluster's and the nodes' namespaces.
func (c *Cluster) initPath() string { return c.Binary("kruise-local-init") }

func (c *Cluster) provisionerPath() string { return c.Binary("kruise-local-provisioner") }

// BuildBinaries builds the programs whose pinned version is not in the cache, and points their plain names at that version.
func (c *Cluster) BuildBinaries(ctx context.Context) error {
	unlock, err := lockFile(filepath.Join(c.cfg.BinDir, ".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	module := filepath.Join(c.cfg.ModuleRoot, "hack", "localcluster", "binaries")
	versions, err := toolVersions(filepath.Join(module, "go.mod"))
	if err != nil {
		return err
	}
	for i, tool := range tools() {
		version := versions[tool.module]
		if version == "" {
			return fmt.Errorf("build %s: %s/go.mod does not require %s", tool.name, module, tool.module)
		}
		cached := tool.name + "@" + version
		if !exists(c.Binary(cached)) {
			c.progress("building %s (%d of %d)", cached, i+1, len(tools()))
			if err := c.buildTool(ctx, module, tool, version, c.Binary(cached)); err != nil {
				return err
			}
		}
		if err := link(cached, c.Binary(tool.name)); err != nil {
			return fmt.Errorf("link %s: %w", tool.name, err)
		}
	}
	for out, pkg := range map[string]string{
		c.initPath():        "./hack/localcluster/initprocess",
		c.provisionerPath(): "./hack/localcluster/provisioner",
	} {
		if err := images.Compile(ctx, c.cfg.ModuleRoot, pkg, out, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) buildTool(ctx context.Context, module string, t tool, version, out string) error {
	const prefix = "k8s.io/component-base/version."
	variables := map[string]string{}
	if t.module == "k8s.io/kubernetes" {
		parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
		variables[prefix+"gitVersion"], variables[prefix+"gitMajor"], variables[prefix+"gitMinor"] = version, parts[0], parts[1]
	}
	if t.name == "helm" {
		variables["helm.sh/helm/v3/internal/version.version"] = version
	}
	partial := out + ".partial"
	if err := images.Compile(ctx, module, t.pkg, partial, variables); err != nil {
		return err
	}
	return os.Rename(partial, out)
}

// toolVersions are the versions that a go.mod requires, by module.
func toolVersions(goMod string) (map[string]string, error) {
	out, err := exec.Command("go", "mod", "edit", "-json", goMod).Output() //nolint:noctx // It reads one file.
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", goMod, err)
	}
	var parsed struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &parsed); err != nil {
		return nil, fmt.Errorf("read %s: %w", goMod, err)
	}
	versions := map[string]string{}
	for _, require := range parsed.Require {
		versions[require.Path] = require.Version
	}
	return versions, nil
}

func link(target, path string) error {
	if current, err := os.Readlink(path); err == nil && current == target {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(target, path)
}
