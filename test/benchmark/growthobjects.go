//go:build bench

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/test/hostcontroller"
)

const (
	// perNamespace is how many objects a namespace has.
	perNamespace = 1000
	// probes is the number of objects in the namespace whose list is measured. It does not change.
	probes = 100
	// probeSpace has the objects that are read and changed, and newSpace those that are created and deleted.
	probeSpace, newSpace = "growth-probes", "growth-new"
)

// objectGrowth measures CloneSets without Pods.
type objectGrowth struct {
	*growth
	// direct sends requests to kruise-apiserver without kube-apiserver, because the creation of many objects takes long.
	direct versioned.Interface
	verbs  []growthVerb
	// reconciled is the number of objects that the controller has reconciled.
	reconciled int
	// creation is the CPU time of one creation, and calm that of a second without requests.
	creation, calm cpuTime
	// lighten takes the CPU weight from kruise-apiserver that a server on a node of its own has.
	lighten func() error
}

// growObjects measures the servers and the controller with growing numbers of CloneSets. It leaves the objects behind: deleting so many
// takes as long as creating them.
func (b *bench) growObjects(ctx context.Context, shape growthShape) (err error) {
	g := &objectGrowth{growth: b.newGrowth(shape, "objects")}
	giveBack, err := hostcontroller.TakeOver(ctx, b.core)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, giveBack(context.WithoutCancel(ctx))) }()
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = joined(err, os.RemoveAll(dir)) }()
	defer func() {
		if g.lighten != nil {
			err = joined(err, g.lighten())
		}
	}()
	if g.controller, err = newController(ctx, dir); err != nil {
		return err
	}
	if err := g.prepare(ctx); err != nil {
		return err
	}
	return g.climb(ctx, shape.objects, g.fill, g.measure)
}

// newController builds the controller, which does not run yet.
func newController(ctx context.Context, dir string) (*hostcontroller.Process, error) {
	checkout, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	binary, err := hostcontroller.Build(ctx, checkout, dir)
	if err != nil {
		return nil, err
	}
	return hostcontroller.New(ctx, binary, os.Getenv("KUBECONFIG"), filepath.Join(dir, "controller.log"))
}

// prepare finds the servers, and creates the namespaces and the objects that are probed.
func (g *objectGrowth) prepare(ctx context.Context) error {
	if err := g.connect(ctx); err != nil {
		return err
	}
	for _, name := range []string{probeSpace, newSpace} {
		if err := g.addNamespace(ctx, name); err != nil {
			return err
		}
	}
	if err := each(0, probes, func(i int) error { return g.create(ctx, probeSpace, i) }); err != nil {
		return err
	}
	return g.addVerbs(ctx)
}

// connect finds the servers. kruise-apiserver has a new address after each restart.
func (g *objectGrowth) connect(ctx context.Context) (err error) {
	if g.kruise, g.kube, err = g.servers(ctx); err != nil {
		return err
	}
	if g.manager, err = managerServer(g.config); err != nil {
		return err
	}
	if g.processes, err = g.findAPIServers(ctx); err != nil {
		return err
	}
	if g.lighten, err = giveOwnWeight(g.processes.kruise); err != nil {
		return err
	}
	direct, err := g.directConfig(ctx)
	if err != nil {
		return err
	}
	direct = inProtobuf(direct)
	direct.QPS = -1
	g.direct, err = versioned.NewForConfig(direct)
	return err
}

func (g *objectGrowth) addNamespace(ctx context.Context, name string) error {
	_, err := g.core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return unlessExists(err)
}

func (g *objectGrowth) create(ctx context.Context, namespace string, i int) error {
	return cloneSets(g.direct).create(ctx, namespace, fmt.Sprintf("bench-%05d", i))
}

// fill creates objects. The namespace of the probes counts too.
func (g *objectGrowth) fill(ctx context.Context, from, to int) error {
	from, to = max(0, from-probes), to-probes
	space := func(i int) string { return fmt.Sprintf("growth-%03d", i/perNamespace) }
	for i := from / perNamespace; i*perNamespace < to; i++ {
		if err := g.addNamespace(ctx, space(i*perNamespace)); err != nil {
			return err
		}
	}
	return each(from, to, func(i int) error { return g.create(ctx, space(i), i%perNamespace) })
}

// measure measures the servers, and then the controller. The controller does not run meanwhile, so that all steps can be compared.
func (g *objectGrowth) measure(ctx context.Context, count int) error {
	if count <= g.shape.managed {
		if err := g.reconcile(ctx, count); err != nil {
			return fmt.Errorf("reconcile: %w", err)
		}
	}
	for _, do := range []func(context.Context, int) error{g.memory, g.store, g.call, g.watch, g.restart, g.startController} {
		if err := do(ctx, count); err != nil {
			return err
		}
	}
	return nil
}

// store reads the size of the embedded store.
func (g *objectGrowth) store(ctx context.Context, count int) error {
	text, err := g.kruise.client.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("read %s's metrics: %w", g.kruise.name, err)
	}
	metrics := hostcontroller.Metrics(text)
	g.figures.Add(storeChart, "file", count, metrics.Sum("kruise_store_size_bytes")/mebibyte)
	g.figures.Add(storeChart, "in use", count, metrics.Sum("kruise_store_in_use_bytes")/mebibyte)
	return g.peak(count, " peak")
}

// restart stops kruise-apiserver and starts it again. It measures the time from the start of the process to the first answer through
// kube-apiserver. The new process has nothing left of the creations.
func (g *objectGrowth) restart(ctx context.Context, count int) error {
	if err := g.lighten(); err != nil {
		return err
	}
	g.lighten = nil
	start, err := g.rest(ctx, g.kruise.name)
	if err != nil {
		return err
	}
	start()
	if _, err := g.processOf(ctx, serverSelector); err != nil {
		return fmt.Errorf("wait until kruise-apiserver starts again: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, scalePatience)
	defer cancel()
	began, get := time.Now(), g.verbs[0]
	if err := until(ctx, func() bool { return get.of(get.workload)(ctx, probeSpace, "bench-00000") == nil }); err != nil {
		return fmt.Errorf("wait until kruise-apiserver answers again: %w", err)
	}
	g.figures.Add(startChart, "kruise-apiserver answers", count, time.Since(began).Seconds())
	if err := g.connect(ctx); err != nil {
		return err
	}
	u, err := g.kruise.use(ctx)
	if err != nil {
		return err
	}
	g.figures.Add(memoryChart, g.kruise.name+" held after a restart", count, u.held/mebibyte)
	return g.peak(count, " peak of a start")
}

// peak adds the most memory that kruise-apiserver has had resident since it started.
func (g *objectGrowth) peak(count int, name string) error {
	peak, err := hostcontroller.PeakMemory(g.processes.kruise)
	g.figures.Add(memoryChart, g.kruise.name+name, count, float64(peak)/mebibyte)
	return err
}

// until asks often until the answer is yes.
func until(ctx context.Context, yes func() bool) error {
	for !yes() {
		if err := pause(ctx, scalePoll/2); err != nil {
			return err
		}
	}
	return nil
}
