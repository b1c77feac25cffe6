//go:build bench

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/test/hostcontroller"
)

const (
	// quietFor is how long a controller sends no request before its work counts as done.
	quietFor = 3 * time.Second
	// reactions is how many changes are timed.
	reactions = 20
)

// reconcile starts the controller, waits until it has reconciled the new objects, measures that, and ends it.
func (g *objectGrowth) reconcile(ctx context.Context, count int) (err error) {
	if err := g.controller.Start(ctx); err != nil {
		return err
	}
	defer func() { err = joined(err, g.controller.Kill()) }()
	metrics, err := g.quiet(ctx)
	if err != nil {
		return err
	}
	fresh := float64(count - g.reconciled)
	g.reconciled = count
	g.work("a new object", count, fresh, "", metrics)
	if err := g.controllerMemory(ctx, count); err != nil {
		return err
	}
	if err := g.react(ctx, probeSpace, "bench-00000", count); err != nil {
		return err
	}
	return g.idle(ctx, count)
}

// quiet waits until the controller has no more work, and returns its metrics then.
func (g *growth) quiet(ctx context.Context) (metrics hostcontroller.Metrics, err error) {
	last, since := -1.0, time.Now()
	for {
		if metrics, err = g.controller.Metrics(ctx); err != nil {
			return "", err
		}
		requests := writes(metrics)
		if requests != last {
			last, since = requests, time.Now()
		}
		if requests > 0 && time.Since(since) > quietFor {
			return metrics, nil
		}
		if err := pause(ctx, scalePoll); err != nil {
			return "", err
		}
	}
}

func writes(metrics hostcontroller.Metrics) (total float64) {
	for _, verb := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		total += metrics.Sum("rest_client_requests_total", `method="`+verb+`"`)
	}
	return total
}

// work adds what the controller spent for each of the things that it worked on.
func (g *growth) work(name string, count int, things float64, before, after hostcontroller.Metrics) {
	of := func(metric string) float64 { return (after.Sum(metric) - before.Sum(metric)) / things }
	g.figures.Add(eachChart, name, count, 1000*of("process_cpu_seconds_total"))
	g.figures.Add(callsChart, name, count, of("rest_client_requests_total"))
	g.figures.Add(callsChart, name+": writes", count, (writes(after)-writes(before))/things)
	bytes := of("rest_client_request_size_bytes_sum") + of("rest_client_response_size_bytes_sum")
	g.figures.Add(bytesChart, name, count, bytes/1024)
}

// controllerMemory adds the live heap and the peak of the controller.
func (g *growth) controllerMemory(ctx context.Context, count int) error {
	heap, err := g.controller.Heap(ctx)
	if err != nil {
		return err
	}
	g.figures.Add(controllerChart, "live heap", count, float64(heap)/mebibyte)
	peak, err := hostcontroller.PeakMemory(g.controller.PID())
	if err != nil {
		return err
	}
	g.figures.Add(controllerChart, "peak", count, float64(peak)/mebibyte)
	return g.profileController(ctx, "heap", "heap", count)
}

// profileController writes a profile of the controller to a file with that name, if profiles are wanted.
func (g *growth) profileController(ctx context.Context, name, query string, count int) error {
	if g.shape.profiles == "" {
		return nil
	}
	data, err := g.controller.Profile(ctx, query)
	if err != nil {
		return err
	}
	return g.save("controller", name, count, data)
}

// react measures the time from an accepted change of a CloneSet to its status.
func (g *growth) react(ctx context.Context, namespace, name string, count int) error {
	kruise, err := versioned.NewForConfig(inProtobuf(g.config))
	if err != nil {
		return err
	}
	sets := kruise.AppsV1beta1().CloneSets(namespace)
	set, err := sets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	events, err := sets.Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(), ResourceVersion: set.ResourceVersion,
	})
	if err != nil {
		return err
	}
	defer events.Stop()
	var times []float64
	for i := range reactions {
		change := fmt.Appendf(nil, `{"spec":{"minReadySeconds":%d}}`, 1-i%2)
		set, err := sets.Patch(ctx, name, types.MergePatchType, change, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		began := time.Now()
		for event := range events.ResultChan() {
			if seen, ok := event.Object.(*v1beta1.CloneSet); ok && seen.Status.ObservedGeneration >= set.Generation {
				times = append(times, float64(time.Since(began).Microseconds())/1000)
				break
			}
		}
	}
	if len(times) < reactions {
		return fmt.Errorf("the watch of CloneSet %s ended", name)
	}
	slices.Sort(times)
	g.percentiles(reactionChart, "change to status", count, times)
	return nil
}

// idle measures the controller without work.
func (g *growth) idle(ctx context.Context, count int) error {
	if err := pause(ctx, calmFor); err != nil {
		return err
	}
	before, err := g.controller.Metrics(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, g.shape.idle); err != nil {
		return err
	}
	after, err := g.controller.Metrics(ctx)
	if err != nil {
		return err
	}
	minutes := g.shape.idle.Minutes()
	of := func(metric string) float64 { return (after.Sum(metric) - before.Sum(metric)) / minutes }
	g.figures.Add(idleChart, "controller", count, of("process_cpu_seconds_total"))
	g.figures.Add(idleCallsChart, "controller", count, of("rest_client_requests_total"))
	return nil
}

// startController changes an object, starts the controller, measures until it reconciles, and ends it.
func (g *objectGrowth) startController(ctx context.Context, count int) (err error) {
	if err := g.verbs[0].workload.patch(ctx, probeSpace, "bench-00001"); err != nil {
		return err
	}
	began := time.Now()
	if err := g.controller.Start(ctx); err != nil {
		return err
	}
	defer func() { err = joined(err, g.controller.Kill()) }()
	if err := g.works(ctx, count, began); err != nil || count > g.shape.managed {
		return err
	}
	_, err = g.quiet(ctx) // The object that was changed is reconciled.
	return err
}

// works waits for the first reconcile of a controller that has just been started, which comes when all its caches are full. It then
// measures the memory.
func (g *growth) works(ctx context.Context, count int, began time.Time) error {
	err := until(ctx, func() bool {
		metrics, err := g.controller.Metrics(ctx)
		return err == nil && metrics.Sum("controller_runtime_reconcile_total", `controller="cloneset-controller"`) > 0
	})
	if err != nil {
		return err
	}
	g.figures.Add(startChart, "controller works", count, time.Since(began).Seconds())
	heap, err := g.controller.Heap(ctx)
	if err != nil {
		return err
	}
	g.figures.Add(controllerChart, "live heap after a start", count, float64(heap)/mebibyte)
	peak, err := hostcontroller.PeakMemory(g.controller.PID())
	g.figures.Add(controllerChart, "peak of a start", count, float64(peak)/mebibyte)
	return err
}
