package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kruise.io/kruise/hack/checkout"
	"kruise.io/kruise/hack/images"
)

// architectures are the architectures of a release, in Go's notation.
const architectures = "amd64,arm64"

func main() { checkout.Main(run) }

// run distinguishes the two uses of the command.
func run(ctx context.Context, root string, args []string) error {
	switch strings.Join(args, " ") {
	case "build":
		return build(ctx, root)
	case "":
		return release(ctx, root)
	default:
		return fmt.Errorf("arguments %q: use none, or \"build\"", args)
	}
}

// build compiles the programs for the architecture of this machine, as in their images.
func build(ctx context.Context, root string) error {
	builder := images.Builder{ModuleRoot: root}
	for _, program := range append(images.Programs(), images.Plugin()) {
		out := filepath.Join("bin", program.Name)
		if err := builder.Compile(ctx, program, filepath.Join(root, out)); err != nil {
			return err
		}
		fmt.Println(out)
	}
	return nil
}

// release writes all files to a new folder. When the folder is complete, it replaces the previous release. So
// .local/release never holds a part of a release.
func release(ctx context.Context, root string) error {
	version, err := versionOf(ctx, root, os.Getenv("VERSION"))
	if err != nil {
		return err
	}
	local := filepath.Join(root, ".local")
	if err := os.MkdirAll(local, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(local, "release-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // Gone when the rename succeeded.
	for arch := range strings.SplitSeq(cmp.Or(os.Getenv("RELEASE_ARCHS"), architectures), ",") {
		if err := programs(ctx, root, dir, version, arch); err != nil {
			return err
		}
	}
	if err := chart(ctx, root, dir, version); err != nil {
		return err
	}
	if err := krew(dir, version, os.Getenv("RELEASE_URL")); err != nil {
		return fmt.Errorf("write the manifest of the plugin: %w", err)
	}
	if err := sums(dir); err != nil {
		return fmt.Errorf("write checksums: %w", err)
	}
	last := filepath.Join(local, "release")
	if err := errors.Join(os.RemoveAll(last), os.Chmod(dir, 0o755), os.Rename(dir, last)); err != nil {
		return err
	}
	fmt.Printf("%s is in .local/release\n", version)
	return nil
}

// programs writes each program for one architecture, with its image and its list of dependencies. The plugin is
// written for each operating system.
func programs(ctx context.Context, root, dir, version, arch string) error {
	work, err := os.MkdirTemp(filepath.Dir(dir), "release-images-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // Nobody reads it again.
	// A folder for each architecture, because the archives have the same names.
	builder := images.Builder{ModuleRoot: root, Dir: work, Arch: arch, Version: version}
	for _, system := range systems() {
		if err := plugin(ctx, builder, root, dir, version, system); err != nil {
			return err
		}
	}
	for _, program := range images.Programs() {
		program.Tag = imageTag(version)
		built, err := builder.Build(ctx, program)
		if err != nil {
			return err
		}
		name := filepath.Join(dir, fmt.Sprintf("kruise-%s-linux-%s", program.Name, arch))
		if err := writeDependencies(builder.Binary(program), name+".cdx.json", "kruise-"+program.Name, version); err != nil {
			return err
		}
		if err := errors.Join(os.Rename(builder.Binary(program), name), os.Rename(builder.Archive(program), name+".oci.tar")); err != nil {
			return err
		}
		fmt.Printf("%s %s: %s\n", built[0].Ref, arch, built[0].Digest)
	}
	return nil
}
