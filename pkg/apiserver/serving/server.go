package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"
)

const (
	// announcePeriod is how often the end is announced to connections that are new since the last time.
	announcePeriod = 100 * time.Millisecond
	// closePatience is how long clients may take to close their connections after the last answer.
	closePatience = 5 * time.Second
	// idleTimeout and readHeaderTimeout are those of the generic server, like the limits below.
	idleTimeout       = 90 * time.Second
	readHeaderTimeout = 32 * time.Second
	maxHeaderBytes    = 1 << 20
	streamBufferBytes = 256 << 10
	defaultStreams    = 100
)

// Server serves the handler of a generic server in its place.
type Server struct {
	info   *genericapiserver.SecureServingInfo
	taken  *taken
	server *http.Server

	lock  sync.Mutex
	conns map[*conn]struct{}
}

// Take replaces the listener of a generic server, which then accepts no connection. Run serves in its place.
func Take(info *genericapiserver.SecureServingInfo) *Server {
	s := &Server{
		info: info, conns: map[*conn]struct{}{},
		taken: &taken{Listener: info.Listener, ready: make(chan struct{}), closed: make(chan struct{})},
	}
	info.Listener = s.taken
	return s
}

// Beside returns a function that runs the generic server and Run, until both have ended.
func (s *Server) Beside(generic func(context.Context) error, handler http.Handler, delay time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		served := make(chan error, 1)
		go func() {
			err := s.Run(ctx, handler, delay)
			cancel() // Without it, the generic server would run and not serve.
			served <- err
		}()
		err := generic(ctx)
		_ = s.taken.Close()
		select {
		case failure := <-served:
			return errors.Join(err, failure)
		case <-time.After(closePatience): // All requests are answered.
			return err
		}
	}
}

// Run serves until the generic server closes its listener, and all requests are answered. It starts when the generic server would,
// with certificates loaded. When ctx ends, the process is about to stop: half of the delay later, Run starts to announce the end to
// all connections. The other replicas have taken over their endpoints by then.
func (s *Server) Run(ctx context.Context, handler http.Handler, delay time.Duration) error {
	select {
	case <-s.taken.ready:
	case <-s.taken.closed:
		return s.taken.Listener.Close()
	}
	config, err := s.tlsConfig()
	if err != nil {
		return err
	}
	s.server = &http.Server{
		Handler: handler, TLSConfig: config, MaxHeaderBytes: maxHeaderBytes, IdleTimeout: idleTimeout, ReadHeaderTimeout: readHeaderTimeout,
		ErrorLog: newErrorLog(klog.FromContext(ctx)),
	}
	if err := s.configureHTTP2(); err != nil {
		return err
	}
	stopped := make(chan error, 1)
	go func() {
		<-s.taken.closed
		// The generic server ends requests that take too long, and then the process.
		stopped <- s.server.Shutdown(context.WithoutCancel(ctx))
	}()
	go s.announce(ctx, delay)
	if err := s.server.Serve(tls.NewListener(s.taken.Listener, config)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("accept connections: %w", err)
	}
	return <-stopped
}

// announce tells the clients of all connections to use another one, until the server stops.
func (s *Server) announce(ctx context.Context, delay time.Duration) {
	select {
	case <-ctx.Done():
	case <-s.taken.closed:
		return
	}
	wait := delay / 2
	for {
		select {
		case <-time.After(wait):
		case <-s.taken.closed:
			return
		}
		wait = announcePeriod
		s.lock.Lock()
		for c := range s.conns {
			go c.announce() // It waits for a client that does not read.
		}
		s.lock.Unlock()
	}
}

// configureHTTP2 is what the generic server does, with connections that can announce their end.
//
//nolint:staticcheck // The HTTP/2 server of net/http takes no connection of another type.
func (s *Server) configureHTTP2() error {
	if s.info.DisableHTTP2 {
		return nil
	}
	streams := s.info.HTTP2MaxStreamsPerConnection
	if streams <= 0 {
		streams = defaultStreams
	}
	options := &http2.Server{
		IdleTimeout: idleTimeout, MaxUploadBufferPerStream: streamBufferBytes, MaxReadFrameSize: streamBufferBytes,
		MaxConcurrentStreams: uint32(streams), MaxUploadBufferPerConnection: streamBufferBytes * int32(streams),
	}
	if err := http2.ConfigureServer(s.server, options); err != nil {
		return fmt.Errorf("configure HTTP/2: %w", err)
	}
	s.server.TLSNextProto[http2.NextProtoTLS] = func(server *http.Server, connection *tls.Conn, handler http.Handler) {
		c := &conn{Conn: connection}
		s.lock.Lock()
		s.conns[c] = struct{}{}
		s.lock.Unlock()
		defer func() {
			s.lock.Lock()
			delete(s.conns, c)
			s.lock.Unlock()
		}()
		serve := &http2.ServeConnOpts{Handler: handler, BaseConfig: server}
		if with, ok := handler.(interface{ BaseContext() context.Context }); ok {
			serve.Context = with.BaseContext()
		}
		options.ServeConn(c, serve)
	}
	return nil
}

// tlsConfig returns the configuration of the generic server. Its certificates change with their files and ConfigMaps.
func (s *Server) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{
		MinVersion: max(tls.VersionTLS12, s.info.MinTLSVersion), CipherSuites: s.info.CipherSuites, CurvePreferences: s.info.CurvePreferences,
		NextProtos: []string{http2.NextProtoTLS, "http/1.1"},
	}
	if s.info.DisableHTTP2 {
		config.NextProtos = []string{"http/1.1"}
	}
	if s.info.ClientCA != nil {
		// Authentication decides about certificates, because clients may use other credentials.
		config.ClientAuth = tls.RequestClientCert
	}
	certificates := dynamiccertificates.NewDynamicServingCertificateController(config, s.info.ClientCA, s.info.Cert, s.info.SNICerts, nil)
	if s.info.ClientCA != nil {
		s.info.ClientCA.AddListener(certificates)
	}
	if s.info.Cert != nil {
		s.info.Cert.AddListener(certificates)
	}
	for _, cert := range s.info.SNICerts {
		cert.AddListener(certificates)
	}
	if err := certificates.RunOnce(); err != nil {
		return nil, fmt.Errorf("load certificates: %w", err)
	}
	go certificates.Run(1, s.taken.closed)
	config.GetConfigForClient = certificates.GetConfigForClient
	return config, nil
}

// taken is the listener that the generic server has instead of its own.
type taken struct {
	net.Listener
	accepting, closing sync.Once
	// ready is closed when the generic server starts to accept connections, closed when it stops.
	ready, closed chan struct{}
}

// Accept implements net.Listener. It waits for Close.
func (t *taken) Accept() (net.Conn, error) {
	t.accepting.Do(func() { close(t.ready) })
	<-t.closed
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (t *taken) Close() error {
	t.closing.Do(func() { close(t.closed) })
	return nil
}
