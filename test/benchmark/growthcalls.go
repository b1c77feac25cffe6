//go:build bench

package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// growthVerb is one kind of request and how often it is sent in a round.
type growthVerb struct {
	step
	workload  workload
	namespace string
}

const (
	getVerb, createVerb = "get", "create"
	// growthRounds is how often all verbs take turns.
	growthRounds = 3
	pageSize     = 500
)

// addVerbs makes the requests of an ordinary user in two namespaces. The pages of all namespaces are read by an administrator.
func (g *objectGrowth) addVerbs(ctx context.Context) error {
	user := func(namespace string) (workload, error) {
		config, err := g.ordinaryUser(ctx, namespace)
		if err != nil {
			return workload{}, err
		}
		client, err := versioned.NewForConfig(inProtobuf(config))
		if err != nil {
			return workload{}, err
		}
		w := cloneSets(client)
		var changes atomic.Int64
		w.patch = func(ctx context.Context, namespace, name string) error {
			_, err := client.AppsV1beta1().CloneSets(namespace).Patch(ctx, name, types.JSONPatchType,
				[]byte("["+imageOp(fmt.Sprintf("v%d", changes.Add(1)))+"]"), metav1.PatchOptions{})
			return err
		}
		return w, nil
	}
	known, err := user(probeSpace)
	if err != nil {
		return err
	}
	fresh, err := user(newSpace)
	if err != nil {
		return err
	}
	admin, err := versioned.NewForConfig(inProtobuf(g.config))
	if err != nil {
		return err
	}
	pages := workload{kind: known.kind, list: func(ctx context.Context, _, _ string) error {
		_, err := admin.AppsV1beta1().CloneSets("").List(ctx, metav1.ListOptions{Limit: pageSize})
		return err
	}}
	const many, some, few = probes, 50, 10
	list := func(w workload) verb { return w.list }
	g.verbs = []growthVerb{
		{step{getVerb, many, func(w workload) verb { return w.get }}, known, probeSpace},
		{step{"patch", many, func(w workload) verb { return w.patch }}, known, probeSpace},
		{step{createVerb, some, func(w workload) verb { return w.create }}, fresh, newSpace},
		{step{"delete", some, func(w workload) verb { return w.remove }}, fresh, newSpace},
		{step{fmt.Sprintf("list a namespace of %d", probes), few, list}, known, probeSpace},
		{step{fmt.Sprintf("list a page of %d", pageSize), few, list}, pages, ""},
	}
	return nil
}

// call sends all requests with one client, in turns, and measures their latency and the CPU time of the servers.
func (g *objectGrowth) call(ctx context.Context, count int) (err error) {
	if g.calm, err = g.processes.idle(ctx); err != nil {
		return err
	}
	profiled := make(chan error, 2)
	for _, s := range []server{g.kruise, g.kube} {
		go func() { profiled <- g.profile(ctx, s, "profile", count, "seconds=15") }()
	}
	latencies, spent := map[string][]float64{}, map[string]cpuTime{}
	for range growthRounds {
		for _, v := range g.verbs {
			began := time.Now()
			before, err := g.processes.cpu()
			if err != nil {
				return err
			}
			times, err := g.run(ctx, 1, 1, calls([]workload{v.workload}, v.namespace, v.count, v.of))
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			after, err := g.processes.cpu()
			if err != nil {
				return err
			}
			latencies[v.name] = append(latencies[v.name], times[0]...)
			cost := after.less(before, 1).less(g.calm, time.Since(began).Seconds())
			spent[v.name] = spent[v.name].less(cost, -1)
		}
	}
	for _, v := range g.verbs {
		slices.Sort(latencies[v.name])
		g.percentiles(latencyChart, v.name, count, latencies[v.name])
		mean := spent[v.name].each(growthRounds * v.count)
		g.figures.Add(kruiseChart, v.name, count, mean.kruise)
		g.figures.Add(kubeChart, v.name, count, mean.kube)
		if v.name == createVerb {
			g.creation = mean
		}
	}
	return joined(<-profiled, <-profiled)
}
