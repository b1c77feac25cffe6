//go:build integration

package integration

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/transport"
)

// readKey returns the stored value of a key.
func readKey(t *testing.T, endpoint, name, cert, key, ca string) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	authority, err := os.ReadFile(ca)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(authority))
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint}, Context: t.Context(),
		TLS: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12},
	})
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	response, err := client.Get(t.Context(), name)
	require.NoError(t, err)
	require.Len(t, response.Kvs, 1, name)
	return string(response.Kvs[0].Value)
}

// withHeader adds a header to every request.
func withHeader(name, value string) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			req = req.Clone(req.Context())
			req.Header.Set(name, value)
			return next.RoundTrip(req)
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
