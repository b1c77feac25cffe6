package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
)

// shutdownTimeout is how long running requests may take after the server is told to stop. After it, their connections
// are closed.
const shutdownTimeout = 2 * time.Second

// Check is a named health or readiness check. Name appears in the answer. Run must return when its context ends.
type Check struct {
	Name string
	Run  func(context.Context) error
}

// Server serves HTTP on one address.
type Server struct {
	http     *http.Server
	listener net.Listener
}

// New creates a server of /livez, /healthz, /readyz and /metrics. /livez succeeds whenever the server answers. It
// runs no checks, because a restart of the agent would not bring back the API or the runtime. New opens no address;
// call Listen.
func New(addr string, health, ready []Check) *Server {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", answer(nil))
	mux.Handle("GET /healthz", answer(health))
	mux.Handle("GET /readyz", answer(ready))
	mux.Handle("GET /metrics", legacyregistry.Handler())
	return newServer(addr, mux)
}

// NewPprof creates a server of Go profiles. It is separate, because profiles are off by default and have their own
// address.
func NewPprof(addr string) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return newServer(addr, mux)
}

// newServer limits the time for request headers, so a client that sends nothing cannot hold a connection.
func newServer(addr string, handler http.Handler) *Server {
	return &Server{http: &http.Server{Addr: addr, Handler: handler, ReadHeaderTimeout: 10 * time.Second}}
}

// Listen opens the address. It fails if the address is in use.
func (s *Server) Listen(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.http.Addr)
	if err != nil {
		return fmt.Errorf("serve on %s: %w", s.http.Addr, err)
	}
	s.listener = listener
	return nil
}

// Addr returns the address of the listener.
func (s *Server) Addr() string {
	return s.listener.Addr().String()
}

// Close closes the listener. Call it only if Run is never called.
func (s *Server) Close() error {
	return s.listener.Close()
}

// Run serves until ctx ends. It returns at most 2 seconds later.
func (s *Server) Run(ctx context.Context) error {
	// Checks end when the agent stops, because their context is derived from ctx.
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		err := s.http.Shutdown(graceful)
		if errors.Is(err, context.DeadlineExceeded) {
			klog.FromContext(ctx).V(2).Info("Closed the connections of unfinished requests", "address", s.Addr())
			err = s.http.Close()
		}
		stopped <- err
	})
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fmt.Errorf("serve on %s: %w", s.Addr(), err)
	}
	return <-stopped
}

// answer writes ok, or the first failed check and its error with status 500. Checks run in their order, and those
// after a failure are skipped.
func answer(checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, check := range checks {
			if err := check.Run(r.Context()); err != nil {
				http.Error(w, fmt.Sprintf("check %s failed, err: %v", check.Name, err), http.StatusInternalServerError)
				return
			}
		}
		_, _ = w.Write([]byte("ok")) // The client may be gone; that is not an error.
	}
}
