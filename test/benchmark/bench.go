//go:build bench

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// bench runs every verb over the same number of objects of each kind, the two kinds interleaved call by call, so that
// whatever else the machine does falls on both.
type bench struct {
	core                    kubernetes.Interface
	clients, objects, lists int
}

// call is one timed request of the workload with that index.
type call struct {
	workload int
	do       func(ctx context.Context) error
}

func (b *bench) compare(ctx context.Context, left, right workload) error {
	namespace, err := b.core.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	defer func() {
		_ = b.core.CoreV1().Namespaces().Delete(context.WithoutCancel(ctx), namespace.Name, metav1.DeleteOptions{})
	}()
	pair := []workload{left, right}
	verbs := []struct {
		name  string
		count int
		of    func(workload) func(ctx context.Context, namespace, name string) error
	}{
		{"create", b.objects, func(w workload) func(context.Context, string, string) error { return w.create }},
		{"get", b.objects, func(w workload) func(context.Context, string, string) error { return w.get }},
		{"patch", b.objects, func(w workload) func(context.Context, string, string) error { return w.patch }},
		{"list", b.lists, func(w workload) func(context.Context, string, string) error { return w.list }},
		{"delete", b.objects, func(w workload) func(context.Context, string, string) error { return w.remove }},
	}
	reviews, err := b.reviews(ctx)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(out, "ms\t%s p50\tp99\t%s p50\tp99\tratio p50\tp99\t\n", left.kind, right.kind)
	for _, verb := range verbs {
		var calls []call
		for i := range verb.count {
			for side, w := range pair {
				calls = append(calls, call{side, func(ctx context.Context) error {
					return verb.of(w)(ctx, namespace.Name, fmt.Sprintf("bench-%04d", i))
				}})
			}
		}
		times, err := b.run(ctx, calls)
		if err != nil {
			return fmt.Errorf("%s: %w", verb.name, err)
		}
		a, d := times[0], times[1]
		_, _ = fmt.Fprintf(out, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t\n", verb.name, at(a, 50), at(a, 99), at(d, 50), at(d, 99),
			at(a, 50)/at(d, 50), at(a, 99)/at(d, 99))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	after, err := b.reviews(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d objects of each kind, %d clients, %d lists; subject access reviews per CloneSet request: %.3f\n",
		b.objects, b.clients, b.lists, (after-reviews)/float64(4*b.objects+b.lists))
	return nil
}

// run carries the calls out with the bench's clients and returns the sorted latencies in milliseconds, by workload.
func (b *bench) run(ctx context.Context, calls []call) ([2][]float64, error) {
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		times  [2][]float64
		failed error
	)
	work := make(chan call)
	for range b.clients {
		group.Go(func() {
			for c := range work {
				begin := time.Now()
				err := c.do(ctx)
				took := float64(time.Since(begin).Microseconds()) / 1000
				mu.Lock()
				times[c.workload] = append(times[c.workload], took)
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	for _, c := range calls {
		work <- c
	}
	close(work)
	group.Wait()
	slices.Sort(times[0])
	slices.Sort(times[1])
	return times, failed
}

// at is the percentile p of sorted values.
func at(sorted []float64, p int) float64 { return sorted[min(len(sorted)*p/100, len(sorted)-1)] }

// reviews counts the SubjectAccessReviews that kube-apiserver has answered so far.
func (b *bench) reviews(ctx context.Context) (float64, error) {
	metrics, err := b.core.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read kube-apiserver's metrics: %w", err)
	}
	total := 0.0
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "apiserver_request_total{") || !strings.Contains(line, `resource="subjectaccessreviews"`) {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("read metric %q: %w", line, err)
		}
		total += value
	}
	return total, lines.Err()
}
