package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/leaderelection"
	_ "k8s.io/component-base/logs/json/register"           // Registers --logging-format=json.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"  // Registers rest_client_* and leader_election_*.
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // Registers workqueue_*.
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/controller"
)

// errLostLease ends the process, because two replicas must not work at the same time.
var errLostLease = errors.New("lost the Lease of the leader election")

// Run runs until ctx ends. Every replica fills its caches immediately, even if it does not lead. So a new leader can
// start as soon as it has the Lease. The deferred calls run in the reverse order: first the context ends, then the
// caches stop, then the events, and the servers for metrics and probes at last.
func (c *Config) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Metrics and probes are served before everything else, so that a replica that waits is visible.
	servers, err := c.serve(ctx)
	if err != nil {
		return err
	}
	defer servers.Wait()
	defer cancel(nil)

	c.broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.events.Events("")})
	defer c.broadcaster.Shutdown()

	var caches sync.WaitGroup
	caches.Go(func() { c.fillCaches(ctx) })
	defer caches.Wait()
	defer cancel(nil)

	if c.lock == nil {
		c.lead(ctx)
		return nil
	}
	return c.elect(ctx)
}

// elect runs the controllers while this replica holds the Lease. It releases the Lease only after the last write, so
// that the next leader sees all writes of this one.
func (c *Config) elect(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	// The election has a context of its own, because it must hold the Lease until the controllers have stopped, which
	// is after ctx ends.
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	term := &term{}
	// When ctx ends, wait for the controllers, and only then release the Lease.
	defer context.AfterFunc(ctx, func() { term.end(); stop() })()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: c.lock, Name: c.options.Election.ID, ReleaseOnCancel: true,
		LeaseDuration: c.options.Election.LeaseDuration, RenewDeadline: c.options.Election.RenewDeadline,
		RetryPeriod: c.options.Election.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ours context.Context) {
				term.run(func() {
					// The controllers stop when ctx ends or when the Lease is lost, whichever comes first.
					leading, stopLeading := context.WithCancel(ctx)
					defer stopLeading()
					defer context.AfterFunc(ours, stopLeading)()
					c.lead(leading)
				})
			},
			OnStoppedLeading: func() { c.leader.set(false) },
			OnNewLeader: func(identity string) {
				logger.Info("Leader", "identity", identity, "me", identity == c.lock.Identity())
			},
		},
	})
	if err != nil {
		return fmt.Errorf("set up leader election: %w", err)
	}
	elector.Run(electing)
	// The election has ended, although nobody stopped it.
	if electing.Err() == nil {
		return errLostLease
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// lead runs the controllers until ctx ends.
func (c *Config) lead(ctx context.Context) {
	c.leader.set(true)
	var running sync.WaitGroup
	for _, controller := range c.controllers {
		running.Go(func() { controller.Run(ctx) })
	}
	running.Go(func() { c.deps.Leftovers.Run(ctx, clock.RealClock{}) })
	running.Wait()
}

// fillCaches starts the informers of each controller as soon as the API servers serve the kinds that it needs. It
// returns when ctx has ended and all informers have stopped.
func (c *Config) fillCaches(ctx context.Context) {
	defer c.caches.Wait()
	c.readTime(ctx)
	w := &waiter{
		discovery: c.kruise.Discovery(), left: slices.Clone(c.controllers),
		start: func(needs []controller.Need) { c.caches.Start(ctx, needs) },
	}
	w.run(ctx)
	<-ctx.Done()
}

// readTime waits for an answer of kube-apiserver, which has its time. A refusal is an answer too. Without it, a controller that gets its
// first object from another server would see the clock of this machine. The wait is logged once.
func (c *Config) readTime(ctx context.Context) {
	said := false
	_ = wait.PollUntilContextCancel(ctx, apiPeriod, true, func(ctx context.Context) (bool, error) {
		err := c.deps.Kube.Discovery().RESTClient().Get().AbsPath("/api/v1").Do(ctx).Error()
		if err == nil || errors.As(err, new(apierrors.APIStatus)) {
			return true, nil
		}
		if !said {
			klog.FromContext(ctx).Info("Waiting for kube-apiserver: check that it runs, and that the network allows the connection", "err", err)
			said = true
		}
		return false, nil
	})
}
