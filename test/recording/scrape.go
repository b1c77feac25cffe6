package recording

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// timeout limits one scrape. It is the default of Prometheus.
const timeout = 10 * time.Second

// scrape reads /metrics through a forwarded port. The node agent serves its metrics only on the loopback address of its node by
// default, and no other way leads there.
func (r *Recorder) scrape(ctx context.Context, t *target) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	local, err := r.forward(ctx, t)
	if err != nil {
		return nil, err
	}
	client, err := r.client(t)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s://localhost:%d/metrics", t.scheme, local), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/metrics of Pod %s answers %s", t.pod, response.Status)
	}
	return io.ReadAll(response.Body)
}

// client returns a client that presents the certificate of the recorder's user to the apiserver, which trusts the same authority as
// kube-apiserver.
func (r *Recorder) client(t *target) (*http.Client, error) {
	if t.scheme == "http" {
		return &http.Client{Transport: &http.Transport{}}, nil
	}
	config, err := rest.TLSConfigFor(r.config)
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		Certificates: config.Certificates, GetClientCertificate: config.GetClientCertificate,
		InsecureSkipVerify: true, // The other end of the forwarded port is known.
	}}}, nil
}

// forward returns a local port that leads to the target until ctx ends.
func (r *Recorder) forward(ctx context.Context, t *target) (uint16, error) {
	transport, upgrader, err := spdy.RoundTripperFor(r.config)
	if err != nil {
		return 0, err
	}
	url := r.core.CoreV1().RESTClient().Post().Resource("pods").Namespace(Namespace).Name(t.pod).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	ready := make(chan struct{})
	forwarder, err := portforward.New(dialer, []string{fmt.Sprintf("0:%d", t.port)}, ctx.Done(), ready, io.Discard, io.Discard)
	if err != nil {
		return 0, err
	}
	failed := make(chan error, 1)
	go func() { failed <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-failed:
		return 0, fmt.Errorf("forward a port of Pod %s: %w", t.pod, err)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	forwarded, err := forwarder.GetPorts()
	if err != nil {
		return 0, err
	}
	return forwarded[0].Local, nil
}
