//go:build bench

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
)

// manager is stopped while memory is measured. It acts on CloneSets and would add objects and load to kube-apiserver.
const manager = "kruise-controller-manager"

// memory stores many objects of both kinds, one kind after the other, with open watches. It prints how the memory of the servers
// grows that serve or store the objects. The custom resource has no webhooks here.
func (b *bench) memory(ctx context.Context, ours, custom workload) error {
	restore, err := b.rest(ctx, manager)
	if err != nil {
		return err
	}
	defer restore()
	kruise, kube, err := b.servers(ctx)
	if err != nil {
		return err
	}
	etcd, err := etcdServer()
	if err != nil {
		return err
	}
	left, err := b.store(ctx, ours, []server{kruise, kube})
	if err != nil {
		return fmt.Errorf("store %ss: %w", ours.kind, err)
	}
	right, err := b.store(ctx, custom, []server{kube, etcd})
	if err != nil {
		return fmt.Errorf("store %ss: %w", custom.kind, err)
	}
	return b.printMemory(left, right)
}

// stored is the memory that one kind's objects used.
type stored struct {
	kind   string
	object int
	// servers grew by these objects.
	servers []serverMemory
}

// serverMemory is the memory of one server before and after the objects were created.
type serverMemory struct {
	server        string
	before, after use
}

// perObject returns by how many KiB for each object the servers have grown.
func perObject(servers []serverMemory, count int, of func(use) float64) float64 {
	sum := 0.0
	for _, s := range servers {
		sum += of(s.after) - of(s.before)
	}
	return sum / float64(count) / 1024
}

func (b *bench) printMemory(left, right stored) error {
	held, heap := func(u use) float64 { return u.held }, func(u use) float64 { return u.heap }
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(out, "MiB\theld before\tafter\tlive heap before\tafter\tKiB per object: JSON\theld\tlive heap\t")
	for _, kind := range []stored{left, right} {
		for _, s := range kind.servers {
			one := []serverMemory{s}
			_, _ = fmt.Fprintf(out, "%s in %s\t%.0f\t%.0f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t\n", kind.kind, s.server,
				s.before.held/(1<<20), s.after.held/(1<<20), s.before.heap/(1<<20), s.after.heap/(1<<20),
				float64(kind.object)/1024, perObject(one, b.stored, held), perObject(one, b.stored, heap))
		}
	}
	_, _ = fmt.Fprintf(out, "ratio of the sums\t\t\t\t\t\t%.2f\t%.2f\t\n",
		perObject(left.servers, b.stored, held)/perObject(right.servers, b.stored, held),
		perObject(left.servers, b.stored, heap)/perObject(right.servers, b.stored, heap))
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Printf("%d objects of each kind, %d watches on each, after a garbage collection; "+
		"where kruise-apiserver embeds its store, its figures contain the store's; etcd is that of kube-apiserver\n", b.stored, b.watchers)
	return nil
}

// store creates the objects of a kind while watches are open, waits until every watch has shown them, and measures the memory.
// It then deletes the objects, because the deletion of a full namespace takes long.
func (b *bench) store(ctx context.Context, w workload, servers []server) (result stored, err error) {
	result.kind = w.kind
	namespace, remove, err := b.namespace(ctx)
	if err != nil {
		return result, err
	}
	defer remove()
	for _, s := range servers {
		before, err := s.use(ctx)
		if err != nil {
			return result, err
		}
		result.servers = append(result.servers, serverMemory{server: s.name, before: before})
	}
	watches, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := make(chan error, b.watchers)
	for range b.watchers {
		events, err := w.watch(watches, namespace, metav1.ListOptions{})
		if err != nil {
			return result, fmt.Errorf("watch: %w", err)
		}
		go func() { seen <- w.shown(watches, namespace, events, b.stored) }()
	}
	begin := time.Now()
	creations := calls([]workload{w}, namespace, b.stored, func(w workload) verb { return w.create })
	if _, err := b.run(ctx, b.clients, 1, creations); err != nil {
		return result, err
	}
	for range b.watchers {
		if err := <-seen; err != nil {
			return result, err
		}
	}
	fmt.Printf("%d %ss created and seen by %d watches in %.0f s\n", b.stored, w.kind, b.watchers, time.Since(begin).Seconds())
	for i, s := range servers {
		if result.servers[i].after, err = s.use(ctx); err != nil {
			return result, err
		}
	}
	object, err := w.read(ctx, namespace, "bench-00000")
	if err != nil {
		return result, err
	}
	text, err := json.Marshal(object)
	result.object = len(text)
	return result, errors.Join(err, w.clear(ctx, namespace))
}

// shown reads a watch until it has shown count new objects. A server ends the watch of a client that reads too slowly. As any
// client does, shown then resumes at the last version.
func (w workload) shown(ctx context.Context, namespace string, events watch.Interface, count int) error {
	for last := ""; count > 0; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open := <-events.ResultChan():
			if !open {
				again, err := w.watch(ctx, namespace, metav1.ListOptions{ResourceVersion: last})
				if err != nil {
					return fmt.Errorf("go on watching: %w", err)
				}
				events = again
				continue
			}
			if event.Type == watch.Error {
				return apierrors.FromObject(event.Object)
			}
			object, err := meta.Accessor(event.Object)
			if err != nil {
				return fmt.Errorf("read what a watch shows: %w", err)
			}
			last = object.GetResourceVersion()
			if event.Type == watch.Added {
				count--
			}
		}
	}
	go func() { // The watch stays open while memory is measured.
		<-ctx.Done()
		events.Stop()
	}()
	return nil
}

// rest stops a program of ours, and returns a function that starts it again.
func (b *bench) rest(ctx context.Context, program string) (restore func(), err error) {
	deployments := b.core.AppsV1().Deployments("kruise-system")
	scale, err := deployments.GetScale(ctx, program, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("stop %s: %w", program, err)
	}
	set := func(ctx context.Context, replicas int32) error {
		_, err := deployments.UpdateScale(ctx, program, &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: program}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas},
		}, metav1.UpdateOptions{})
		return err
	}
	deployment, err := deployments.Get(ctx, program, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("stop %s: %w", program, err)
	}
	if err := set(ctx, 0); err != nil {
		return nil, fmt.Errorf("stop %s: %w", program, err)
	}
	restore = func() { _ = set(context.WithoutCancel(ctx), scale.Spec.Replicas) }
	selector := metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(deployment.Spec.Selector)}
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		pods, err := b.core.CoreV1().Pods("kruise-system").List(ctx, selector)
		return err == nil && len(pods.Items) == 0, err
	})
	if err != nil {
		restore()
		return nil, fmt.Errorf("wait until %s has stopped: %w", program, err)
	}
	return restore, nil
}
