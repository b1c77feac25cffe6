package localcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	// oldestMinor is the minor version of the oldest Kubernetes that Kruise supports.
	oldestMinor = 30
	// stagedVersion is the version that Kubernetes requires of the modules that are released together with it.
	stagedVersion = "v0.0.0"
)

var kubernetesVersion = regexp.MustCompile(`^1\.(\d+)\.\d+$`)

// checkKubernetesVersion accepts an empty version, and a complete one that is not too old.
func checkKubernetesVersion(version string) error {
	if version == "" {
		return nil
	}
	match := kubernetesVersion.FindStringSubmatch(version)
	if match == nil {
		return fmt.Errorf("kubernetesVersion %q: use a complete version, for example 1.34.4", version)
	}
	if minor, err := strconv.Atoi(match[1]); err != nil || minor < oldestMinor {
		return fmt.Errorf("kubernetesVersion %q: use 1.%d or later", version, oldestMinor)
	}
	return nil
}

// since reports whether the cluster's Kubernetes has this minor version or a later one. The default version has all.
func (c Config) since(minor int) bool {
	match := kubernetesVersion.FindStringSubmatch(c.KubernetesVersion)
	if match == nil {
		return true
	}
	its, err := strconv.Atoi(match[1])
	return err == nil && its >= minor
}

// kubernetesTools returns the folder of the module that builds the programs of Kubernetes in the configured version. It writes
// the module if it is not there. A version needs its own module, because programs of one module share their dependencies.
func (c *Cluster) kubernetesTools(ctx context.Context) (dir string, err error) {
	version := "v" + c.cfg.KubernetesVersion
	return c.toolModule(ctx, kubernetesModule, version, func() (string, error) { return c.kubernetesMod(ctx, version) })
}

// toolModule returns the folder of a module that requires the tools of one module in a version. It writes the module if it is not
// there, with the content as its first go.mod.
func (c *Cluster) toolModule(ctx context.Context, module, version string, content func() (string, error)) (dir string, err error) {
	dir = filepath.Join(filepath.Dir(c.cfg.BinDir), "modules", module, version)
	if exists(filepath.Join(dir, "go.mod")) {
		return dir, nil
	}
	// The module gets its name only when it is complete.
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return "", err
	}
	defer os.RemoveAll(partial) //nolint:errcheck // The next call removes it too.
	text, err := content()
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(partial, "go.mod"), []byte(text), 0o644); err != nil {
		return "", err
	}
	args := []string{"get"}
	for _, tool := range tools() {
		if tool.module == module {
			args = append(args, tool.pkg+"@"+version)
		}
	}
	if _, err := goCommand(ctx, partial, args...); err != nil {
		return "", err
	}
	return dir, os.Rename(partial, dir)
}

// kubernetesMod returns a go.mod that requires a version of Kubernetes, and replaces the modules that are released with it.
func (c *Cluster) kubernetesMod(ctx context.Context, version string) (string, error) {
	var module struct{ GoMod string }
	if err := goJSON(ctx, os.TempDir(), &module, "mod", "download", "-json", kubernetesModule+"@"+version); err != nil {
		return "", err
	}
	var parsed struct {
		Go      string
		Require []struct{ Path, Version string }
	}
	if err := goJSON(ctx, "", &parsed, "mod", "edit", "-json", module.GoMod); err != nil {
		return "", err
	}
	// The staged modules have the minor and patch version of Kubernetes, with v0 in place of v1.
	var content strings.Builder
	fmt.Fprintf(&content, "module kubernetes\n\ngo %s\n\nrequire %s %s\n\n", parsed.Go, kubernetesModule, version)
	for _, require := range parsed.Require {
		if require.Version == stagedVersion {
			fmt.Fprintf(&content, "replace %s => %[1]s %s\n", require.Path, strings.Replace(version, "v1.", "v0.", 1))
		}
	}
	return content.String(), nil
}

// goJSON runs the go command in a folder and decodes its output.
func goJSON(ctx context.Context, dir string, into any, args ...string) error {
	out, err := goCommand(ctx, dir, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("read the output of go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// goCommand runs the go command in a folder and returns its output. It does not ask the checksum database about the modules of
// Kubernetes, because the database does not have every patch release of each of them.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	var stderr strings.Builder
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir, command.Stderr = dir, &stderr
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GONOSUMDB=k8s.io/*")
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
