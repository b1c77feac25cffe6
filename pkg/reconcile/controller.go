package reconcile

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Result is what a reconcile wants beside being called when something changes.
type Result struct {
	// RequeueAfter calls again after this long, or sooner where an error is retried sooner; zero does not.
	RequeueAfter time.Duration
	// KeepFailures says that the reconcile did not get as far as to succeed: it waits for a cache, a quota or its turn. The
	// delay of the next error then grows from where it was, and does not begin at BaseDelay again.
	KeepFailures bool
}

// Reconcile brings one object to its desired state. It must be safe to call again at any point, and is never called twice at
// once for the same key. An error is retried with growing delay; one that no retry can cure is reported and not returned.
type Reconcile func(ctx context.Context, key types.NamespacedName) (Result, error)

// Controller is a queue of object names, and the workers that empty it.
type Controller struct {
	name      string
	options   Options
	reconcile Reconcile
	queue     workqueue.TypedRateLimitingInterface[types.NamespacedName]
	watches   []cache.ResourceEventHandlerRegistration
}

// New makes a controller that runs nothing yet.
func New(name string, options Options, reconcile Reconcile) *Controller {
	return &Controller{
		name: name, options: options, reconcile: reconcile,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(options.rateLimiter(),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: name, Clock: options.clock()}),
	}
}

// Name returns the name in logs, events and metrics.
func (c *Controller) Name() string { return c.name }

// Reconcile works on one key at once and does not queue it. It must not be called while Run works.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (Result, error) {
	return c.reconcile(ctx, key)
}

// Add reconciles a key soon, for callers whose watch Watch does not fit.
func (c *Controller) Add(key types.NamespacedName) { c.queue.Add(key) }

// Run works until the context ends, and returns when the last worker has. Informers are started by the caller.
func (c *Controller) Run(ctx context.Context) error {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "controller", c.name)
	ctx = klog.NewContext(ctx, logger)
	defer c.queue.ShutDown()
	logger.Info("Waiting for caches")
	if !cache.WaitForCacheSync(ctx.Done(), c.synced()...) {
		return fmt.Errorf("sync caches of %s: %w", c.name, context.Cause(ctx))
	}
	logger.Info("Started", "workers", c.options.workers())
	c.options.Metrics.started(c.name, c.options.workers())

	var workers sync.WaitGroup
	for range c.options.workers() {
		workers.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
	logger.Info("Stopped")
	return nil
}

// synced are the informers that are read, and the handlers that have to see what there is from the beginning.
func (c *Controller) synced() (all []cache.InformerSynced) {
	if c.options.Informers != nil {
		all = c.options.Informers()
	}
	for _, watch := range c.watches {
		all = append(all, watch.HasSynced)
	}
	return all
}

// next works on one key and returns false when there will be no more.
func (c *Controller) next(ctx context.Context) bool {
	key, stop := c.queue.Get()
	if stop {
		return false
	}
	defer c.queue.Done(key)
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "object", klog.KRef(key.Namespace, key.Name))
	done := c.options.Metrics.begin(c.name, c.options.clock())
	result, err := c.reconcile(klog.NewContext(ctx, logger), key)
	done(result, err)
	switch {
	case unavailable(err):
		logger.Info("Server is not available, retrying", "err", err, "after", unavailableDelay)
		c.queue.AddAfter(key, unavailableDelay)
	case err != nil:
		c.logFailure(logger, err)
		c.queue.AddRateLimited(key)
		if result.RequeueAfter > 0 {
			c.queue.AddAfter(key, result.RequeueAfter)
		}
	default:
		if !result.KeepFailures {
			c.queue.Forget(key)
		}
		if result.RequeueAfter > 0 {
			c.queue.AddAfter(key, result.RequeueAfter)
		}
	}
	return true
}

// unavailableDelay is how long a key waits for a server that is away. It does not grow: after an outage of hours the work that
// waited must not wait for a good part of an hour more.
const unavailableDelay = 5 * time.Second

func unavailable(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err)
}

// logFailure keeps what every controller meets in normal operation out of the error log.
func (c *Controller) logFailure(logger klog.Logger, err error) {
	switch {
	case apierrors.IsConflict(err):
		logger.V(4).Info("Object changed meanwhile, retrying", "err", err)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		logger.V(4).Info("Namespace goes, the object will too", "err", err)
	default:
		logger.Error(err, "Reconcile failed, retrying")
	}
}
