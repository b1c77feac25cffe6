//go:build integration && fault

package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// frontDoor is how a program reaches kube-apiserver: a load balancer that ends TLS connections with a certificate of the test. The test
// can replace the certificate and the kube-apiserver.
type frontDoor struct {
	url         string
	certificate atomic.Pointer[tls.Certificate]
	backend     atomic.Pointer[backend]
	// number rises when connections and watches that began before must end.
	number atomic.Int64

	lock    sync.Mutex
	watches map[*http.Request]context.CancelFunc
}

// backend is a kube-apiserver behind the door.
type backend struct {
	proxy *httputil.ReverseProxy
	// requests is the number of requests that it has got.
	requests atomic.Int64
}

type connectionKey struct{}

// openFrontDoor listens until the end of the test.
func openFrontDoor(t *testing.T, issuer *authority) *frontDoor {
	t.Helper()
	d := &frontDoor{watches: map[*http.Request]context.CancelFunc{}}
	d.use(t, issuer)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{
		Handler: d, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return d.certificate.Load(), nil
		}},
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, d.number.Load())
		},
	}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	d.url = (&url.URL{Scheme: "https", Host: listener.Addr().String()}).String()
	return d
}

// use has new connections get a certificate of this authority.
func (d *frontDoor) use(t *testing.T, issuer *authority) {
	t.Helper()
	cert, key := issuer.issue(t, &x509.Certificate{
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	d.certificate.Store(&tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key})
}

// lead sends requests to the kube-apiserver at the address.
func (d *frontDoor) lead(t *testing.T, host string) *backend {
	t.Helper()
	target, err := url.Parse(host)
	require.NoError(t, err)
	b := &backend{proxy: httputil.NewSingleHostReverseProxy(target)}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // The test checks the other side of the door.
		ForceAttemptHTTP2: true,
	}
	b.proxy.Transport, b.proxy.FlushInterval = transport, -1
	t.Cleanup(transport.CloseIdleConnections)
	d.backend.Store(b)
	return b
}

// restart ends all watches, and each connection after its next answer, as a kube-apiserver does that is replaced.
func (d *frontDoor) restart() {
	d.number.Add(1)
	d.lock.Lock()
	defer d.lock.Unlock()
	for _, end := range d.watches {
		end()
	}
}

// ServeHTTP implements http.Handler.
func (d *frontDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := d.backend.Load()
	b.requests.Add(1)
	if r.Context().Value(connectionKey{}) != d.number.Load() {
		w.Header().Set("Connection", "close") // With HTTP/2, this tells the client to send the next request over another connection.
	}
	if r.URL.Query().Get("watch") != "" {
		ctx, end := context.WithCancel(r.Context())
		r = r.WithContext(ctx)
		d.lock.Lock()
		d.watches[r] = end
		d.lock.Unlock()
		defer func() {
			end()
			d.lock.Lock()
			delete(d.watches, r)
			d.lock.Unlock()
		}()
		defer func() { _ = recover() }() // The proxy panics when a stream is cut, to close it.
	}
	b.proxy.ServeHTTP(w, r)
}

// programAt starts an apiserver that reaches kube-apiserver through the door, with the files ca.crt and token in its folder, as in a Pod.
func (d *frontDoor) programAt(t *testing.T, name string, trusted []byte, token string) (s *server, files func(name string) string) {
	t.Helper()
	s, err := newServer(t.Context(), name)
	require.NoError(t, err)
	files = func(name string) string { return filepath.Join(s.dir, name) }
	writeFile(t, files("ca.crt"), trusted)
	writeFile(t, files("token"), []byte(token))
	config := clientcmdapi.NewConfig()
	config.Clusters["local"] = &clientcmdapi.Cluster{Server: d.url, CertificateAuthority: files("ca.crt")}
	config.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: files("token")}
	config.Contexts["local"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: "pod"}
	config.CurrentContext = "local"
	require.NoError(t, clientcmd.WriteToFile(*config, files("kubeconfig")))
	require.NoError(t, s.start(t.Context()))
	t.Cleanup(func() { s.kill() })
	return s, files
}
