package cri

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// checkTTL is how long the result of a check is cached. Probes of the kubelet and scrapes may ask more often.
const checkTTL = 10 * time.Second

// othersTimeout limits the check of the runtimes that the kubelet does not use. It is shorter than the timeout of the readiness probe.
const othersTimeout = 3 * time.Second

var up = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Namespace:      "kruise_node_agent",
	Name:           "cri_up",
	Help:           "1 if the container runtime answered the last check, 0 otherwise.",
	StabilityLevel: metrics.ALPHA,
}, []string{"runtime"})

// RegisterMetrics registers the metrics of this package. Only the first call has an effect.
var RegisterMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(up, requestSeconds) })

// Check checks that the runtime of the kubelet answers. Use it for readiness, not for liveness: the connections recover without a
// restart of the agent. Whether the other runtimes answer is shown in the metric alone: the node may have one that nothing uses.
type Check struct {
	choice *Choice
	clock  clock.PassiveClock

	// mu guards asked and err. It is held during the calls, so concurrent callers share one result.
	mu    sync.Mutex
	asked time.Time
	err   error
}

// NewCheck creates a check. It asks each runtime for its version at most every 10 seconds.
func NewCheck(choice *Choice, clock clock.PassiveClock) *Check {
	return &Check{choice: choice, clock: clock}
}

// Check returns the last result. If that is too old, it asks the runtimes again.
func (c *Check) Check(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if !c.asked.IsZero() && now.Sub(c.asked) < checkTTL {
		return c.err
	}
	others, cancel := context.WithTimeout(ctx, othersTimeout)
	defer cancel()
	used, err := c.choice.Runtime(others)
	if err != nil {
		// Only pulls need the choice. The agent can do its other work.
		klog.FromContext(ctx).V(2).Info("Cannot choose a container runtime", "reason", err)
		used = c.choice.runtimes[0]
	}
	var asked sync.WaitGroup
	for _, runtime := range c.choice.runtimes {
		if runtime == used {
			continue
		}
		asked.Go(func() {
			if err := ask(others, runtime); err != nil {
				klog.FromContext(ctx).V(2).Info("A container runtime that the kubelet does not use does not answer", "err", err)
			}
		})
	}
	c.err = ask(ctx, used)
	asked.Wait()
	c.asked = now
	if ctx.Err() != nil {
		c.asked = time.Time{} // The caller gave up, so the error may not come from the runtime. Do not cache the result.
	}
	return c.err
}

// ask asks one runtime for its version, and shows the result in the metric.
func ask(ctx context.Context, runtime *Runtime) error {
	if _, err := runtime.Containers.Version(ctx, ""); err != nil {
		up.WithLabelValues(runtime.Name).Set(0)
		return fmt.Errorf("runtime %s at %s: %w", runtime.Name, runtime.Socket, err)
	}
	up.WithLabelValues(runtime.Name).Set(1)
	return nil
}
