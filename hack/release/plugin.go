package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"kruise.io/kruise/hack/images"
)

// operatingSystems are those for which the plugin is released, in Go's notation.
const operatingSystems = "linux,darwin,windows"

// archiveSuffix is the end of the name of a plugin's archive.
const archiveSuffix = ".tar.gz"

// systems returns the operating systems to build for.
func systems() []string {
	return strings.Split(cmp.Or(os.Getenv("RELEASE_SYSTEMS"), operatingSystems), ",")
}

// executable returns the file name of the plugin.
func executable(system string) string {
	if system == "windows" {
		return images.Plugin().Name + ".exe"
	}
	return images.Plugin().Name
}

// plugin writes the plugin of kubectl for one platform: the archive that krew installs, and its list of dependencies. For Linux, it
// also writes the program itself.
func plugin(ctx context.Context, builder images.Builder, root, dir, version, system string) error {
	program := images.Plugin()
	name := filepath.Join(dir, fmt.Sprintf("%s-%s-%s", program.Name, system, builder.Arch))
	if err := builder.CompileFor(ctx, system, program, name); err != nil {
		return err
	}
	if err := writeDependencies(name, name+".cdx.json", program.Name, version); err != nil {
		return err
	}
	if err := pack(name+archiveSuffix, map[string]string{executable(system): name, "LICENSE": filepath.Join(root, "LICENSE")}); err != nil {
		return fmt.Errorf("pack the plugin for %s: %w", system, err)
	}
	if system == "linux" {
		return nil
	}
	return os.Remove(name)
}

// pack writes an archive with the files, given by their names in it. The same files give the same archive.
func pack(out string, files map[string]string) (err error) {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	// The deferred calls close the three writers from the inside to the outside.
	defer func() { err = errors.Join(err, file.Close()) }()
	zipped := gzip.NewWriter(file)
	defer func() { err = errors.Join(err, zipped.Close()) }()
	archive := tar.NewWriter(zipped)
	defer func() { err = errors.Join(err, archive.Close()) }()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		const executables = 0o755
		if err := archive.WriteHeader(&tar.Header{
			Name: name, Mode: executables, Size: int64(len(content)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
		}); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return nil
}

// platform is an archive of the plugin in the manifest of krew.
type platform struct{ System, Arch, URL, Sum, Bin string }

// manifest is the form of krew, see its documentation on plugin manifests.
var manifest = template.Must(template.New("krew").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: kruise
spec:
  version: {{.Version}}
  homepage: {{.URL}}
  shortDescription: Control workloads of Kruise
  description: |
    Rolls out, pauses, undoes, restarts and watches CloneSets, StatefulSets and DaemonSets of Kruise, says why a rollout stands
    still, and moves Deployments to CloneSets.
  platforms:
{{- range .Platforms}}
    - selector: {matchLabels: {os: {{.System}}, arch: {{.Arch}}}}
      uri: {{.URL}}
      sha256: {{.Sum}}
      bin: {{.Bin}}
{{- end}}
`))

// krew writes the manifest with which krew installs the plugin. url is where users download the files of the release. Without it,
// there is no manifest.
func krew(dir, version, url string) error {
	if url == "" {
		return nil
	}
	url = strings.TrimSuffix(url, "/")
	archives, err := filepath.Glob(filepath.Join(dir, images.Plugin().Name+"-*-*"+archiveSuffix))
	if err != nil {
		return err
	}
	var platforms []platform
	for _, path := range archives {
		sum, err := sumOf(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		// The name of an archive is <plugin>-<system>-<architecture>.
		system, arch, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(name, archiveSuffix), images.Plugin().Name+"-"), "-")
		platforms = append(platforms, platform{system, arch, url + "/" + name, sum, executable(system)})
	}
	var out strings.Builder
	values := struct {
		Version, URL string
		Platforms    []platform
	}{version, url, platforms}
	if err := manifest.Execute(&out, values); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "kruise.krew.yaml"), []byte(out.String()), 0o644)
}
