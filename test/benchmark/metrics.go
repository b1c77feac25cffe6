//go:build bench

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// reviews returns how many SubjectAccessReviews kube-apiserver has answered so far.
func (b *bench) reviews(ctx context.Context) (float64, error) {
	metrics, err := b.core.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read kube-apiserver's metrics: %w", err)
	}
	return sum(metrics, "apiserver_request_total{", `resource="subjectaccessreviews"`)
}

// sum adds the values of the lines that begin with begins and contain contains.
func sum(metrics []byte, begins, contains string) (float64, error) {
	total := 0.0
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, begins) || !strings.Contains(line, contains) {
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

// server is an apiserver whose memory is measured.
type server struct {
	name   string
	client rest.Interface
}

// servers returns kruise-apiserver, reached without the aggregation layer, and kube-apiserver.
func (b *bench) servers(ctx context.Context) (ours, kube server, err error) {
	selector := metav1.ListOptions{LabelSelector: "control-plane=apiserver"}
	pods, err := b.core.CoreV1().Pods("kruise-system").List(ctx, selector)
	if err != nil {
		return ours, kube, fmt.Errorf("find kruise-apiserver: %w", err)
	}
	if len(pods.Items) != 1 {
		return ours, kube, fmt.Errorf("find kruise-apiserver: %d Pods have %s in kruise-system, its memory is measured where there is one",
			len(pods.Items), selector.LabelSelector)
	}
	pod := &pods.Items[0]
	direct := rest.CopyConfig(b.config)
	direct.Host = fmt.Sprintf("https://%s:%d", pod.Status.PodIP, pod.Spec.Containers[0].Ports[0].ContainerPort)
	direct.CAFile, direct.CAData, direct.Insecure = "", nil, true
	direct.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(direct)
	return server{"kruise-apiserver", client}, server{"kube-apiserver", b.core.CoreV1().RESTClient()}, err
}

// use is the memory of a process in bytes. held is the memory that the Go runtime holds; heap is the live part of it.
type use struct{ held, heap float64 }

// use makes the server collect garbage and reads the remaining memory.
func (s server) use(ctx context.Context) (u use, err error) {
	for range 2 { // The second collection frees what the first one finalizes.
		if _, err := s.client.Get().AbsPath("/debug/pprof/heap").Param("gc", "1").DoRaw(ctx); err != nil {
			return u, fmt.Errorf("have %s collect garbage: %w", s.name, err)
		}
	}
	metrics, err := s.client.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return u, fmt.Errorf("read %s's metrics: %w", s.name, err)
	}
	released, err := sum(metrics, "go_memstats_heap_released_bytes ", "")
	if err != nil {
		return u, err
	}
	if u.held, err = sum(metrics, "go_memstats_sys_bytes ", ""); err != nil {
		return u, err
	}
	u.held -= released
	u.heap, err = sum(metrics, "go_memstats_heap_alloc_bytes ", "")
	return u, err
}
