package cri

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/clock"
)

// checkTTL is how long an answer about a runtime counts as fresh.
const checkTTL = 10 * time.Second

var up = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Namespace:      "kruise_node_agent",
	Name:           "cri_up",
	Help:           "Whether the container runtime answered when it was last asked (1) or not (0).",
	StabilityLevel: metrics.ALPHA,
}, []string{"runtime"})

// RegisterMetrics adds this package's metrics to the process's registry. Calling it again changes nothing.
var RegisterMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(up) })

// Check tells whether the runtimes answer. It belongs to readiness: an agent whose runtime is away recovers by itself.
type Check struct {
	runtimes Runtimes
	clock    clock.PassiveClock

	mu    sync.Mutex
	asked time.Time
	err   error
}

// NewCheck makes a check that asks each runtime for its version, at most every 10 seconds.
func NewCheck(runtimes Runtimes, clock clock.PassiveClock) *Check {
	return &Check{runtimes: runtimes, clock: clock}
}

// Check returns the last answer, or asks anew when that is too old.
func (c *Check) Check(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if !c.asked.IsZero() && now.Sub(c.asked) < checkTTL {
		return c.err
	}
	var errs []error
	for _, runtime := range c.runtimes {
		errs = append(errs, ask(ctx, runtime))
	}
	c.err = errors.Join(errs...)
	c.asked = now
	if ctx.Err() != nil {
		c.asked = time.Time{} // the asker left: what failed may not be the runtime
	}
	return c.err
}

func ask(ctx context.Context, runtime *Runtime) error {
	if _, err := runtime.Containers.Version(ctx, ""); err != nil {
		up.WithLabelValues(runtime.Name).Set(0)
		return fmt.Errorf("runtime %s at %s: %w", runtime.Name, runtime.Socket, err)
	}
	up.WithLabelValues(runtime.Name).Set(1)
	return nil
}
