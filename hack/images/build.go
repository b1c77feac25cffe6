package images

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Builder builds the programs of one checkout.
type Builder struct {
	// ModuleRoot is the checkout.
	ModuleRoot string
	// Dir takes the archives, <Dir>/<program>.tar, and below it the programs.
	Dir string
	// Arch is the architecture to build for, as Go calls it; empty is this machine's.
	Arch string
	// Version is a release's: what the programs print, also those with a fixed tag. Empty makes one of the last commit that changed
	// their sources, for programs without a tag.
	Version string
}

// Build makes the archive of each program and returns their images in the same order.
func (b Builder) Build(ctx context.Context, programs ...Program) ([]Image, error) {
	list := make([]Image, 0, len(programs))
	for _, program := range programs {
		binary := b.Binary(program)
		if err := b.Compile(ctx, program, binary); err != nil {
			return nil, err
		}
		image, err := archive(program, binary, b.Archive(program), b.arch())
		if err != nil {
			return nil, fmt.Errorf("make image %s: %w", program.Name, err)
		}
		list = append(list, image)
	}
	return list, nil
}

// Compile builds one program for Linux to the path, with the flags that its image has.
func (b Builder) Compile(ctx context.Context, program Program, out string) error {
	variables := program.Variables
	if program.Tag == "" || b.Version != "" {
		stamp, err := b.versionVariables(ctx)
		if err != nil {
			return err
		}
		variables = stamp
	}
	return Compile(ctx, Compilation{
		Dir: b.ModuleRoot, Package: program.Package, Out: out, Variables: variables, Tags: program.BuildTags, GOOS: "linux", GOARCH: b.arch(),
	})
}

func (b Builder) arch() string { return cmp.Or(b.Arch, runtime.GOARCH) }

// Binary is the path of a compiled program.
func (b Builder) Binary(program Program) string {
	return filepath.Join(b.Dir, "bin", program.file())
}

// Archive is the path of a program's archive.
func (b Builder) Archive(program Program) string {
	return filepath.Join(b.Dir, program.file()+".tar")
}

// Compilation is a Go package to build.
type Compilation struct {
	// Dir is where the package's path is resolved.
	Dir, Package string
	// Out is the program's path.
	Out string
	// Variables are set at link time, by their full name.
	Variables map[string]string
	// Tags are those of the build.
	Tags []string
	// GOOS and GOARCH are the operating system and the architecture to build for; empty is this machine's.
	GOOS, GOARCH string
}

// Compile builds a static program that depends on nothing but the source, the toolchain and the variables.
func Compile(ctx context.Context, c Compilation) error {
	flags := []string{"-s", "-w"}
	for _, name := range slices.Sorted(maps.Keys(c.Variables)) {
		flags = append(flags, "-X", name+"="+c.Variables[name])
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", strings.Join(c.Tags, ","),
		"-ldflags", strings.Join(flags, " "), "-o", c.Out, c.Package)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+cmp.Or(c.GOOS, runtime.GOOS),
		"GOARCH="+cmp.Or(c.GOARCH, runtime.GOARCH), "GOFLAGS=")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", c.Package, err, strings.TrimSpace(string(output)))
	}
	return nil
}

// sources are what the programs are made of, apart from tests.
var sources = []string{"go.mod", "go.sum", "cmd", "pkg", ":(exclude,glob)**/*_test.go"}

// versionVariables stamps what Kubernetes programs print as their version, from the last commit that changed the programs' sources:
// another commit does not change the programs, and so neither their images nor what runs in a cluster.
func (b Builder) versionVariables(ctx context.Context) (map[string]string, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = b.ModuleRoot
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	last, err := git(append([]string{"log", "-1", "--format=%H %cI", "--"}, sources...)...)
	commit, date, found := strings.Cut(last, " ")
	if err != nil || !found {
		return nil, fmt.Errorf("find the last commit of %s that changed %v: %w", b.ModuleRoot, sources, err)
	}
	changes, err := git(append([]string{"status", "--porcelain", "--untracked-files=no", "--"}, sources...)...)
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", b.ModuleRoot, err)
	}
	tag, _ := git("describe", "--tags", "--abbrev=0", "--match=v[0-9]*", commit) // Before the first release there is none.
	treeState := "clean"
	if changes != "" {
		treeState = "dirty"
	}
	const short = 12
	const prefix = "k8s.io/component-base/version."
	return map[string]string{
		prefix + "gitVersion":   cmp.Or(b.Version, cmp.Or(tag, "v0.0.0-dev")+"+"+commit[:short]),
		prefix + "gitCommit":    commit,
		prefix + "gitTreeState": treeState,
		prefix + "buildDate":    date,
	}, nil
}
