//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// bench runs every verb over the same number of objects of each kind. It interleaves the kinds call by call, so that other load
// on the machine affects all kinds equally.
type bench struct {
	limits
	config *rest.Config
	core   kubernetes.Interface
}

// verb is one kind of request for a named object.
type verb func(ctx context.Context, namespace, name string) error

// call is one timed request. workload is the index of its workload.
type call struct {
	workload int
	do       func(ctx context.Context) error
}

// namespace creates a namespace, and returns a function that deletes it with its contents.
func (b *bench) namespace(ctx context.Context) (name string, remove func(), err error) {
	namespaces := b.core.CoreV1().Namespaces()
	created, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}, metav1.CreateOptions{})
	if err != nil {
		return "", nil, fmt.Errorf("create namespace: %w", err)
	}
	return created.Name, func() {
		_ = namespaces.Delete(context.WithoutCancel(ctx), created.Name, metav1.DeleteOptions{})
	}, nil
}

// verbs compares the latency of the first workload with that of the others. The others include the custom resource with its
// webhooks.
func (b *bench) verbs(ctx context.Context, custom *custom, first workload, others ...workload) error {
	namespace, remove, err := b.namespace(ctx)
	if err != nil {
		return err
	}
	defer remove()
	if err := custom.addWebhooks(ctx, namespace); err != nil {
		return err
	}
	all := append([]workload{first}, append(others, custom.workload())...)
	before, err := b.reviews(ctx)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(out, "ms\t")
	for i, w := range all {
		_, _ = fmt.Fprintf(out, "%s p50\tp99\t", w.kind)
		if i > 0 {
			_, _ = fmt.Fprint(out, "ratio p50\tp99\t")
		}
	}
	_, _ = fmt.Fprintln(out)
	for _, row := range []struct {
		name  string
		count int
		of    func(workload) verb
	}{
		{"create", b.objects, func(w workload) verb { return w.create }},
		{"get", b.objects, func(w workload) verb { return w.get }},
		{"patch", b.objects, func(w workload) verb { return w.patch }},
		{"list", b.lists, func(w workload) verb { return w.list }},
		{"delete", b.objects, func(w workload) verb { return w.remove }},
	} {
		times, err := b.time(ctx, all, namespace, row.count, row.of)
		if err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
		_, _ = fmt.Fprintf(out, "%s\t", row.name)
		for i, t := range times {
			_, _ = fmt.Fprintf(out, "%.1f\t%.1f\t", at(t, 50), at(t, 99))
			if i > 0 {
				_, _ = fmt.Fprintf(out, "%.2f\t%.2f\t", at(times[0], 50)/at(t, 50), at(times[0], 99)/at(t, 99))
			}
		}
		_, _ = fmt.Fprintln(out)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	after, err := b.reviews(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d objects of each kind, %d clients, %d lists; a ratio is %s's time over the other's; %d webhook calls;\n"+
		"subject access reviews per %s request: %.3f\n",
		b.objects, b.clients, b.lists, first.kind, custom.calls.Load(), first.kind, (after-before)/float64(4*b.objects+b.lists))
	return nil
}

// time runs a verb on count objects of each workload. It returns the sorted latencies in milliseconds, by workload.
func (b *bench) time(ctx context.Context, all []workload, namespace string, count int, of func(workload) verb) ([][]float64, error) {
	var calls []call
	for i := range count {
		for side, w := range all {
			calls = append(calls, call{side, func(ctx context.Context) error {
				return of(w)(ctx, namespace, fmt.Sprintf("bench-%05d", i))
			}})
		}
	}
	return b.run(ctx, len(all), calls)
}

// run runs the calls with the configured number of clients. It returns the sorted latencies in milliseconds, by workload.
func (b *bench) run(ctx context.Context, workloads int, calls []call) ([][]float64, error) {
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		times  = make([][]float64, workloads)
		failed error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work := make(chan call)
	for range b.clients {
		group.Go(func() {
			for c := range work {
				begin := time.Now()
				err := c.do(ctx)
				took := float64(time.Since(begin).Microseconds()) / 1000
				mu.Lock()
				times[c.workload] = append(times[c.workload], took)
				if err != nil {
					cancel() // The remaining calls would only fail too.
					if failed == nil || !errors.Is(err, context.Canceled) {
						failed = err
					}
				}
				mu.Unlock()
			}
		})
	}
	for _, c := range calls {
		if ctx.Err() != nil {
			break
		}
		work <- c
	}
	close(work)
	group.Wait()
	for i := range times {
		slices.Sort(times[i])
	}
	if failed == nil {
		failed = ctx.Err()
	}
	return times, failed
}

// at returns the percentile p of sorted values.
func at(sorted []float64, p int) float64 { return sorted[min(len(sorted)*p/100, len(sorted)-1)] }
