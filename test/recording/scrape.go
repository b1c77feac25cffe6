package recording

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// timeout limits one scrape. It is the default of Prometheus.
const timeout = 10 * time.Second

// scrape reads /metrics at the address of the Pod, which the nodes and the host of the local cluster can reach.
func (r *Recorder) scrape(ctx context.Context, t *target) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, string(t.scheme)+"://"+t.address+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/metrics of Pod %s answers %s", t.pod, response.Status)
	}
	return io.ReadAll(response.Body)
}

// clientFor returns a client that presents the certificate of the recorder's user to the apiserver, which trusts the same authority as
// kube-apiserver. It does not keep connections, because Pods come and go.
func clientFor(config *rest.Config) (*http.Client, error) {
	host, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		Certificates: host.Certificates, GetClientCertificate: host.GetClientCertificate,
		InsecureSkipVerify: true, // The certificate is for the name of the Service, and the address is that of a Pod.
	}}}, nil
}
