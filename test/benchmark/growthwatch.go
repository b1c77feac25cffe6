//go:build bench

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// watched is how many objects are created while watches are open.
const watched = 20

// watch measures what open watches cost that show the objects of all namespaces, as those of controllers do.
func (g *objectGrowth) watch(ctx context.Context, count int) error {
	for _, watchers := range g.shape.watchers {
		if err := g.watchWith(ctx, count, watchers); err != nil {
			return fmt.Errorf("%d watches: %w", watchers, err)
		}
	}
	return nil
}

func (g *objectGrowth) watchWith(ctx context.Context, count, watchers int) (err error) {
	kruise, err := versioned.NewForConfig(inProtobuf(g.config))
	if err != nil {
		return err
	}
	w := cloneSets(kruise)
	list, err := kruise.AppsV1beta1().CloneSets(newSpace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	empty, err := g.heaps(ctx)
	if err != nil {
		return err
	}
	watches, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := make(chan error, watchers)
	err = each(0, watchers, func(int) error {
		events, err := w.watch(watches, "", metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			return err
		}
		go func() { seen <- w.shown(watches, "", events, watched) }()
		return nil
	})
	if err != nil {
		return err
	}
	open, err := g.heaps(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{g.kruise.name, g.kube.name} {
		more := (open[name] - empty[name]) / 1024 / float64(watchers)
		g.figures.Add(watchSizeChart, fmt.Sprintf("%s, %d watches", name, watchers), count, more)
	}
	cost, err := g.deliver(ctx, w, watchers, seen)
	if err != nil {
		return err
	}
	const micro = 1000
	one := cost.less(g.creation, watched).each(watched * watchers)
	g.figures.Add(watchChart, fmt.Sprintf("kruise-apiserver, %d watches", watchers), count, micro*one.kruise)
	g.figures.Add(watchChart, fmt.Sprintf("kube-apiserver, %d watches", watchers), count, micro*one.kube)
	return nil
}

// heaps returns the live heaps of the servers by name.
func (g *objectGrowth) heaps(ctx context.Context) (heaps map[string]float64, err error) {
	heaps = map[string]float64{}
	for _, s := range []server{g.kruise, g.kube} {
		u, err := s.use(ctx)
		if err != nil {
			return nil, err
		}
		heaps[s.name] = u.heap
	}
	return heaps, nil
}

// deliver creates objects, waits until each watch has shown all of them, and deletes them. It returns the CPU time of the servers until
// the last event was shown.
func (g *objectGrowth) deliver(ctx context.Context, w workload, watchers int, seen <-chan error) (cost cpuTime, err error) {
	began := time.Now()
	before, err := g.processes.cpu()
	if err != nil {
		return cost, err
	}
	creations := calls([]workload{w}, newSpace, watched, func(w workload) verb { return w.create })
	if _, err := g.run(ctx, 1, 1, creations); err != nil {
		return cost, err
	}
	for range watchers {
		if err := <-seen; err != nil {
			return cost, err
		}
	}
	after, err := g.processes.cpu()
	if err != nil {
		return cost, err
	}
	return after.less(before, 1).less(g.calm, time.Since(began).Seconds()), w.clear(ctx, newSpace)
}
