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
	// ModuleRoot is the root of the checkout.
	ModuleRoot string
	// Dir is the folder for the archives, <Dir>/<program>.tar, and the programs.
	Dir string
	// Arch is the target architecture in Go's notation. Empty means the architecture of this machine.
	Arch string
	// Version is the version of a release. All programs print it, even those with a fixed tag. If it is empty,
	// programs without a tag get a version from the last commit that changed their sources.
	Version string
}

// Build creates the archive of each program and returns the images in the same order. It builds one after the other.
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

// Compile builds one program for Linux, with the same flags as in its image.
func (b Builder) Compile(ctx context.Context, program Program, out string) error {
	return b.CompileFor(ctx, "linux", program, out)
}

// CompileFor is Compile for another operating system, in Go's notation.
func (b Builder) CompileFor(ctx context.Context, system string, program Program, out string) error {
	// A fixture with a fixed tag must not change with each commit, so it gets no version, unless this is a release.
	variables := program.Variables
	if program.Tag == "" || b.Version != "" {
		stamp, err := b.versionVariables(ctx)
		if err != nil {
			return err
		}
		variables = stamp
	}
	return Compile(ctx, Compilation{
		Dir: b.ModuleRoot, Package: program.Package, Out: out, Variables: variables, Tags: program.BuildTags, GOOS: system, GOARCH: b.arch(),
	})
}

// arch returns the target architecture.
func (b Builder) arch() string { return cmp.Or(b.Arch, runtime.GOARCH) }

// Binary returns the path of a compiled program.
func (b Builder) Binary(program Program) string {
	return filepath.Join(b.Dir, "bin", program.file())
}

// Archive returns the path of a program's archive.
func (b Builder) Archive(program Program) string {
	return filepath.Join(b.Dir, program.file()+".tar")
}

// Compilation describes one Go build.
type Compilation struct {
	// Dir is the folder in which the package path is resolved.
	Dir, Package string
	// Out is the path of the program.
	Out string
	// Variables are set at link time, by their full names.
	Variables map[string]string
	// Tags are the build tags.
	Tags []string
	// GOOS and GOARCH are the target platform. Empty means the platform of this machine.
	GOOS, GOARCH string
}

// Compile builds a static program. The result depends only on the source, the toolchain and the variables.
func Compile(ctx context.Context, c Compilation) error {
	// The programs have no symbols and no debug information, which makes them smaller.
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

// sources are the inputs of the programs, without tests.
var sources = []string{"go.mod", "go.sum", "cmd", "pkg", ":(exclude,glob)**/*_test.go"}

// versionVariables returns the version variables that Kubernetes programs print. They come from the last commit that changed
// the sources of the programs. Other commits change neither the programs nor their images, so nothing restarts in a cluster.
// git runs a command of git in the checkout and returns its output.
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
	tag, _ := git("describe", "--tags", "--abbrev=0", "--match=v[0-9]*", commit) // Before the first release there is no tag.
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
