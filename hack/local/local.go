package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"kruise.io/kruise/hack/images"
	"kruise.io/kruise/hack/localcluster"
)

// local holds the cluster and the images of this checkout.
type local struct {
	root    string
	out     io.Writer
	began   time.Time
	cluster *localcluster.Cluster
	builder images.Builder
}

// newLocal reads the environment: NODES and KWOK_NODES change the size of the cluster, and installLocal reads CHART_VALUES. The images
// of the fixtures are loaded when the cluster starts, so they are built before.
func newLocal(root string, out io.Writer) (_ *local, err error) {
	builder := images.Builder{ModuleRoot: root, Dir: filepath.Join(root, ".local", "images")}
	config := localcluster.MainConfig(root)
	config.Out = out
	for _, fixture := range images.Fixtures() {
		config.Images = append(config.Images, builder.Archive(fixture))
	}
	for variable, field := range map[string]*int{"NODES": &config.Nodes, "KWOK_NODES": &config.KWOKNodes} {
		if text := os.Getenv(variable); text != "" {
			if *field, err = strconv.Atoi(text); err != nil {
				return nil, fmt.Errorf("%s %q: use a whole number", variable, text)
			}
		}
	}
	cluster, err := localcluster.New(config)
	if err != nil {
		return nil, err
	}
	return &local{root: root, out: out, began: time.Now(), cluster: cluster, builder: builder}, nil
}

// say prints one line of progress with the seconds since the start.
func (l *local) say(format string, args ...any) {
	fmt.Fprintf(l.out, "%6.1fs  %s\n", time.Since(l.began).Seconds(), fmt.Sprintf(format, args...)) //nolint:errcheck // Progress only.
}

// up starts the cluster and builds the programs in parallel. Then it installs the programs and applies the example.
// It can be repeated: what runs already is kept.
func up(ctx context.Context, l *local, _ []string) error {
	if err := l.cluster.Prepare(ctx); err != nil {
		return err
	}
	if _, err := l.builder.Build(ctx, images.Fixtures()...); err != nil {
		return err
	}
	var programs []images.Image
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.cluster.Up(groupCtx) })
	group.Go(func() error {
		var err error
		if programs, err = l.buildPrograms(groupCtx); err != nil {
			return err
		}
		return l.cluster.BuildBinaries(groupCtx, "helm")
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := l.installLocal(ctx, programs); err != nil {
		return err
	}
	if err := l.example(ctx); err != nil {
		return err
	}
	temperature := "warm: the cluster's programs were in .local/bin"
	if n := l.cluster.Built(); n > 0 {
		temperature = fmt.Sprintf("cold: %d of the cluster's programs were built", n)
	}
	l.say("up (%s)", temperature)
	_, err := fmt.Fprintf(l.out, "\nexport KUBECONFIG=%s PATH=%s:%s:$PATH\n",
		l.cluster.Kubeconfig(), filepath.Dir(l.cluster.Binary("kubectl")), filepath.Join(l.root, "bin"))
	return err
}

// down ends the cluster and removes its state. The programs stay in .local/bin.
func down(ctx context.Context, l *local, _ []string) error {
	if err := l.cluster.Down(ctx); err != nil {
		return err
	}
	l.say("down")
	return nil
}

// buildImages writes the images of the programs and of the fixtures.
func buildImages(ctx context.Context, l *local, _ []string) error {
	if _, err := l.buildPrograms(ctx); err != nil {
		return err
	}
	_, err := l.builder.Build(ctx, images.Fixtures()...)
	return err
}

// buildPrograms builds the programs one by one, and prints where each image is.
func (l *local) buildPrograms(ctx context.Context) ([]images.Image, error) {
	l.say("building the images of %d programs", len(images.Programs()))
	var list []images.Image
	for _, program := range images.Programs() {
		built, err := l.builder.Build(ctx, program)
		if err != nil {
			return nil, err
		}
		l.say("%s is in %s", built[0].Ref, built[0].Archive)
		list = append(list, built...)
	}
	return list, nil
}

// buildBinaries builds the programs that the cluster itself runs.
func buildBinaries(ctx context.Context, l *local, _ []string) error {
	if err := l.cluster.BuildBinaries(ctx); err != nil {
		return err
	}
	l.say("the cluster's programs are in .local/bin, %d were built", l.cluster.Built())
	return nil
}

// component controls one process of the cluster, for experiments with failures.
func component(ctx context.Context, l *local, args []string) error {
	verbs := map[string]func(context.Context, string) error{
		"start": l.cluster.StartComponent, "stop": l.cluster.StopComponent,
		"kill": l.cluster.KillComponent, "restart": l.cluster.RestartComponent,
	}
	const wanted = 2
	if len(args) != wanted || verbs[args[0]] == nil {
		return fmt.Errorf("component %v: use start, stop, kill or restart and one of %v", args, l.cluster.Components())
	}
	if !slices.Contains(l.cluster.Components(), args[1]) {
		return fmt.Errorf("component %q: use one of %v", args[1], l.cluster.Components())
	}
	return verbs[args[0]](ctx, args[1])
}
