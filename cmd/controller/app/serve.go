package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
)

// readHeaderTimeout limits how long a client may take to send the headers of a request.
const readHeaderTimeout = 10 * time.Second

// serve starts the listeners for metrics, probes and profiles. They stop when ctx ends. The caller waits for the
// returned group, also after an error.
func (c *Config) serve(ctx context.Context) (*sync.WaitGroup, error) {
	servers := &sync.WaitGroup{}
	type endpoint struct {
		addr    string
		handler http.Handler
	}
	endpoints := []endpoint{{c.options.MetricsAddr, metricsHandler()}, {c.options.HealthAddr, healthHandler()}}
	if c.options.EnablePprof {
		endpoints = append(endpoints, endpoint{c.options.PprofAddr, pprofHandler()})
	}
	for _, e := range endpoints {
		if e.addr == "" || e.addr == "0" {
			continue
		}
		if err := serveOne(ctx, servers, e.addr, e.handler); err != nil {
			return servers, err
		}
	}
	return servers, nil
}

// serveOne listens before it returns, so that an address in use is an error of the start.
func serveOne(ctx context.Context, servers *sync.WaitGroup, addr string, handler http.Handler) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	servers.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.FromContext(ctx).Error(err, "Server failed", "addr", addr)
		}
	})
	servers.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	return nil
}

// metricsHandler serves the metrics of the global registry.
func metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", legacyregistry.Handler())
	return mux
}

// healthHandler succeeds while the process runs. A replica that does not lead, or waits for the API, is also healthy:
// a restart would help neither.
func healthHandler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/readyz"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	}
	return mux
}

// pprofHandler serves Go profiles, as net/http/pprof does, but not on the default mux, which other packages can
// change.
func pprofHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// leaderMetric shows whether this replica leads.
type leaderMetric struct{ gauge *metrics.Gauge }

func newLeaderMetric(register func(metrics.Registerable) error) (*leaderMetric, error) {
	m := &leaderMetric{metrics.NewGauge(&metrics.GaugeOpts{
		Name: "kruise_manager_is_leader", Help: "1 on the active replica, 0 otherwise.", StabilityLevel: metrics.ALPHA,
	})}
	return m, register(m.gauge)
}

// set is called when this replica begins and stops to lead.
func (m *leaderMetric) set(leads bool) {
	value := 0.0
	if leads {
		value = 1
	}
	m.gauge.Set(value)
}
