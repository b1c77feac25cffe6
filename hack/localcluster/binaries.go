package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kruise.io/kruise/hack/images"
)

// tool is a program that is built from another module. pkg is its package, and module the one whose version counts.
type tool struct {
	name   string
	pkg    string
	module string
}

// tools returns the table of tools. hack/localcluster/binaries/go.mod pins their versions. Config can choose another version of
// Kubernetes, and containerd 2 instead of that of the machine.
func tools() []tool {
	return []tool{
		{name: "etcd", pkg: "go.etcd.io/etcd/server/v3", module: "go.etcd.io/etcd/server/v3"},
		{name: "kubectl", pkg: kubernetesModule + "/cmd/kubectl", module: kubernetesModule},
		{name: "kube-apiserver", pkg: kubernetesModule + "/cmd/kube-apiserver", module: kubernetesModule},
		{name: "kube-controller-manager", pkg: kubernetesModule + "/cmd/kube-controller-manager", module: kubernetesModule},
		{name: "kube-scheduler", pkg: kubernetesModule + "/cmd/kube-scheduler", module: kubernetesModule},
		{name: "kube-proxy", pkg: kubernetesModule + "/cmd/kube-proxy", module: kubernetesModule},
		{name: "kubelet", pkg: kubernetesModule + "/cmd/kubelet", module: kubernetesModule},
		{name: "metrics-server", pkg: "sigs.k8s.io/metrics-server/cmd/metrics-server", module: "sigs.k8s.io/metrics-server"},
		{name: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", module: "sigs.k8s.io/kwok"},
		{name: "helm", pkg: "helm.sh/helm/v3/cmd/helm", module: "helm.sh/helm/v3"},
		{name: "containerd", pkg: containerdModule + "/cmd/containerd", module: containerdModule},
		{name: "containerd-shim-runc-v2", pkg: containerdModule + "/cmd/containerd-shim-runc-v2", module: containerdModule},
		{name: "ctr", pkg: containerdModule + "/cmd/ctr", module: containerdModule},
	}
}

// Binary returns the path of a program, for example kubectl, etcd or kube-apiserver. Up creates the programs that run
// in the cluster, and BuildBinaries any other.
func (c *Cluster) Binary(name string) string {
	if version := c.cfg.KubernetesVersion; version != "" && ofKubernetes(name) {
		name += "@v" + version // The link has the default version, for other clusters of this checkout.
	}
	return filepath.Join(c.cfg.BinDir, name)
}

// ofKubernetes reports whether a program belongs to Kubernetes.
func ofKubernetes(name string) bool {
	return slices.ContainsFunc(tools(), func(t tool) bool { return t.name == name && t.module == kubernetesModule })
}

// initPath is the path of the program that holds the namespaces of the cluster and of its nodes.
func (c *Cluster) initPath() string { return c.Binary(initProgram) }

const initProgram = "kruise-local-init"

// provisionerPath is the path of the program that creates volumes.
func (c *Cluster) provisionerPath() string { return c.Binary("kruise-local-provisioner") }

// Built returns how many programs this Cluster has built because the cache did not have their pinned version.
func (c *Cluster) Built() int { return int(c.built.Load()) }

// BuildBinaries builds the named programs, or all programs. It skips a program whose pinned version is in the cache.
// It also updates the links without a version.
func (c *Cluster) BuildBinaries(ctx context.Context, names ...string) error {
	unlock, err := c.lockBinaries(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return c.buildTools(ctx, func(name string) bool { return len(names) == 0 || slices.Contains(names, name) })
}

// lockBinaries waits until no other cluster of this checkout builds programs.
func (c *Cluster) lockBinaries(ctx context.Context) (unlock func(), err error) {
	return lockFile(ctx, filepath.Join(c.cfg.BinDir, ".lock"))
}

// buildNeeded builds the programs that run in this cluster. The two of this checkout have no version, so they are
// always compiled; the go command caches them.
func (c *Cluster) buildNeeded(ctx context.Context) error {
	unlock, err := c.lockBinaries(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	unused := map[string]bool{"helm": true, "metrics-server": !c.cfg.MetricsServer, "kwok": c.cfg.KWOKNodes == 0}
	if err := c.buildTools(ctx, func(name string) bool { return !unused[name] }); err != nil {
		return err
	}
	for out, pkg := range map[string]string{
		c.initPath():        "./hack/localcluster/initprocess",
		c.provisionerPath(): "./hack/localcluster/provisioner",
	} {
		if err := images.Compile(ctx, images.Compilation{Dir: c.cfg.ModuleRoot, Package: pkg, Out: out}); err != nil {
			return err
		}
	}
	return nil
}

// buildTools builds the programs whose names are wanted. The caller holds the lock.
func (c *Cluster) buildTools(ctx context.Context, wanted func(name string) bool) error {
	module := filepath.Join(c.cfg.ModuleRoot, "hack", "localcluster", "binaries")
	versions, err := toolVersions(ctx, filepath.Join(module, "go.mod"))
	if err != nil {
		return err
	}
	pinned := versions[kubernetesModule]
	if c.cfg.KubernetesVersion != "" {
		versions[kubernetesModule] = "v" + c.cfg.KubernetesVersion
	}
	for _, tool := range tools() {
		if !wanted(tool.name) || tool.module == containerdModule && !c.cfg.buildsContainerd() {
			continue
		}
		from := module
		switch {
		case tool.module == containerdModule:
			from, err = c.containerdTools(ctx)
		case tool.module == kubernetesModule && versions[kubernetesModule] != pinned:
			from, err = c.kubernetesTools(ctx)
		}
		if err != nil {
			return err
		}
		if err := c.ensureTool(ctx, from, tool, versions[tool.module]); err != nil {
			return err
		}
	}
	return nil
}

// ensureTool builds a tool unless its version is in the cache, and points the link without a version to it.
func (c *Cluster) ensureTool(ctx context.Context, module string, t tool, version string) error {
	if version == "" {
		return fmt.Errorf("build %s: %s/go.mod does not require %s", t.name, module, t.module)
	}
	cached := t.name + "@" + version
	path := filepath.Join(c.cfg.BinDir, cached)
	if !exists(path) {
		c.progress("building %s", cached)
		if err := buildTool(ctx, module, t, version, path); err != nil {
			return err
		}
		c.built.Add(1)
	}
	// Clusters of the default version start the links. kubectl's link is also for users: it has the version of the last cluster.
	if c.Binary(t.name) == path && t.name != "kubectl" {
		return nil
	}
	if err := link(cached, filepath.Join(c.cfg.BinDir, t.name)); err != nil {
		return fmt.Errorf("link %s: %w", t.name, err)
	}
	return nil
}

// buildTool builds a tool. Programs of Kubernetes get their version, which they report in discovery and in their
// node's status. The file gets its name when it is complete, so an interrupted build is repeated.
func buildTool(ctx context.Context, module string, t tool, version, out string) error {
	const prefix = "k8s.io/component-base/version."
	variables := map[string]string{}
	if t.module == kubernetesModule {
		parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
		variables[prefix+"gitVersion"], variables[prefix+"gitMajor"], variables[prefix+"gitMinor"] = version, parts[0], parts[1]
	}
	partial := out + ".partial"
	compilation := images.Compilation{Dir: module, Package: t.pkg, Out: partial, Variables: variables}
	if err := images.Compile(ctx, compilation); err != nil {
		return err
	}
	return os.Rename(partial, out)
}

// toolVersions returns the versions of the tools, by module: those that a go.mod requires, and that of containerd, which is in no go.mod.
func toolVersions(ctx context.Context, goMod string) (map[string]string, error) {
	var parsed struct {
		Require []struct{ Path, Version string }
	}
	if err := goJSON(ctx, "", &parsed, "mod", "edit", "-json", goMod); err != nil {
		return nil, err
	}
	versions := map[string]string{containerdModule: containerdVersion}
	for _, require := range parsed.Require {
		versions[require.Path] = require.Version
	}
	return versions, nil
}

// link points a symbolic link to the target.
func link(target, path string) error {
	if current, err := os.Readlink(path); err == nil && current == target {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(target, path)
}
