//go:build bench

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
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

// serverSelector selects the Pods of kruise-apiserver.
const serverSelector = "control-plane=apiserver"

// server is a program whose memory is measured.
type server struct {
	name   string
	client rest.Interface
}

// servers returns kruise-apiserver, reached without the aggregation layer, and kube-apiserver.
func (b *bench) servers(ctx context.Context) (ours, kube server, err error) {
	config, err := b.directConfig(ctx)
	if err != nil {
		return ours, kube, err
	}
	ours, err = newServer("kruise-apiserver", config)
	return ours, server{"kube-apiserver", b.core.CoreV1().RESTClient()}, err
}

// directConfig returns the configuration for requests to kruise-apiserver without the aggregation layer.
func (b *bench) directConfig(ctx context.Context) (*rest.Config, error) {
	selector := metav1.ListOptions{LabelSelector: serverSelector}
	pods, err := b.core.CoreV1().Pods("kruise-system").List(ctx, selector)
	if err != nil {
		return nil, fmt.Errorf("find kruise-apiserver: %w", err)
	}
	if len(pods.Items) != 1 {
		return nil, fmt.Errorf("find kruise-apiserver: %d Pods have %s in kruise-system, its memory is measured where there is one",
			len(pods.Items), selector.LabelSelector)
	}
	pod := &pods.Items[0]
	port := strconv.Itoa(int(pod.Spec.Containers[0].Ports[0].ContainerPort))
	return directly(b.config, net.JoinHostPort(pod.Status.PodIP, port)), nil
}

// managerServer returns kube-controller-manager, which runs at the address of kube-apiserver.
func managerServer(config *rest.Config) (s server, err error) {
	address, err := url.Parse(config.Host)
	if err != nil {
		return s, fmt.Errorf("read the cluster's address: %w", err)
	}
	return newServer("kube-controller-manager", directly(config, net.JoinHostPort(address.Hostname(), managerPort)))
}

// etcdServer returns the etcd of kube-apiserver in this checkout's local cluster.
func etcdServer() (s server, err error) {
	cluster, err := localCluster()
	if err != nil {
		return s, err
	}
	network, err := cluster.Network()
	if err != nil {
		return s, err
	}
	config := &rest.Config{Host: network.EtcdEndpoint()}
	config.CertFile, config.KeyFile, config.CAFile = cluster.Credentials("etcd-client")
	return newServer("etcd", config)
}

// directly returns the configuration for another server with the same authority for clients.
func directly(config *rest.Config, host string) *rest.Config {
	direct := rest.CopyConfig(config)
	direct.Host = "https://" + host
	direct.CAFile, direct.CAData, direct.Insecure = "", nil, true
	return direct
}

func newServer(name string, config *rest.Config) (server, error) {
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	return server{name, client}, err
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
