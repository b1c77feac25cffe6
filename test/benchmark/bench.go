//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// bench runs every verb over the same number of objects of each kind.
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

// calls returns the calls of a verb on count objects of each workload, interleaved.
func calls(all []workload, namespace string, count int, of func(workload) verb) (list []call) {
	for i := range count {
		for side, w := range all {
			list = append(list, call{side, func(ctx context.Context) error {
				return of(w)(ctx, namespace, fmt.Sprintf("bench-%05d", i))
			}})
		}
	}
	return list
}

// run runs the calls with a number of clients. It returns the sorted latencies in milliseconds, by workload.
func (b *bench) run(ctx context.Context, clients, workloads int, calls []call) ([][]float64, error) {
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		times  = make([][]float64, workloads)
		failed error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work := make(chan call)
	for range clients {
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

// sorted returns the sorted latencies of a workload in all rounds.
func sorted(rounds []measured, workload int) (all []float64) {
	for _, m := range rounds {
		all = append(all, m.latencies[workload]...)
	}
	slices.Sort(all)
	return all
}
