package hostcontroller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// LateWatches serves a kube-apiserver again, as one would be whose watches are behind: it reads and writes as the other one does, and each
// part of the answer to a watch comes after the delay. It writes a kubeconfig to the path. The server ends with the context.
func LateWatches(ctx context.Context, config *rest.Config, delay time.Duration, kubeconfig string) error {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return fmt.Errorf("connect to kube-apiserver: %w", err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return fmt.Errorf("parse the address of kube-apiserver: %w", err)
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a port: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(response *http.Response) error {
			if response.Request.URL.Query().Has("watch") {
				response.Body = newLate(response.Body, delay)
			}
			return nil
		},
	}}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"late": {Server: "http://" + listener.Addr().String()}},
		Contexts:       map[string]*clientcmdapi.Context{"late": {Cluster: "late"}},
		CurrentContext: "late",
	}, kubeconfig)
}

// late is a body whose bytes come after a delay. All parts keep their distance in time.
type late struct {
	body  io.ReadCloser
	parts chan part
	// rest is what is left of the part that is being read.
	rest   part
	closed chan struct{}
}

type part struct {
	due  time.Time
	data []byte
	err  error
}

func newLate(body io.ReadCloser, delay time.Duration) *late {
	l := &late{body: body, parts: make(chan part, 10000), closed: make(chan struct{})}
	go func() {
		defer close(l.parts)
		for {
			buffer := make([]byte, 64<<10)
			n, err := body.Read(buffer)
			select {
			case l.parts <- part{due: time.Now().Add(delay), data: buffer[:n], err: err}:
			case <-l.closed:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return l
}

// Read implements io.Reader.
func (l *late) Read(p []byte) (int, error) {
	if len(l.rest.data) == 0 && l.rest.err == nil {
		next, more := <-l.parts
		if !more {
			return 0, io.EOF
		}
		l.rest = next
	}
	select {
	case <-time.After(time.Until(l.rest.due)):
	case <-l.closed:
		return 0, errors.New("closed")
	}
	n := copy(p, l.rest.data)
	l.rest.data = l.rest.data[n:]
	if len(l.rest.data) == 0 {
		return n, l.rest.err
	}
	return n, nil
}

// Close implements io.Closer.
func (l *late) Close() error {
	close(l.closed)
	return l.body.Close()
}
