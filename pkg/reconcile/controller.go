package reconcile

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/recovery"
)

// Result is what a reconcile asks for, besides the reconciles that changes trigger.
type Result struct {
	// RequeueAfter is the delay until the next reconcile. After an error, the retry may come sooner. Zero means none.
	RequeueAfter time.Duration
	// KeepFailures is true if the reconcile did not get far enough to succeed, because it waits for a cache, a quota or its turn.
	// The retry delay of the next error then continues to grow, instead of starting at BaseDelay.
	KeepFailures bool
}

// Reconcile brings one object to its desired state. It must be safe to repeat at any point. It is never called concurrently for
// the same key. A returned error is retried with growing delay. An error that no retry can cure must be reported to the user,
// not returned.
type Reconcile func(ctx context.Context, key types.NamespacedName) (Result, error)

// Controller is a queue of object names with workers. Watches are added before Run; afterwards its fields are only read.
type Controller struct {
	name      string
	options   Options
	reconcile Reconcile
	queue     workqueue.TypedRateLimitingInterface[types.NamespacedName]
	watches   []cache.ResourceEventHandlerRegistration
}

// New returns a controller that does not run yet.
func New(name string, options Options, reconcile Reconcile) *Controller {
	return &Controller{
		name: name, options: options, reconcile: reconcile,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(options.rateLimiter(),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: name, Clock: options.clock()}),
	}
}

// Name returns the name in logs, events and metrics.
func (c *Controller) Name() string { return c.name }

// Reconcile reconciles one key at once, without the queue. It must not be called while Run runs.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (Result, error) {
	return c.reconcile(ctx, key)
}

// Add queues a key, for callers that cannot use Watch. A key that is queued already is not queued twice.
func (c *Controller) Add(key types.NamespacedName) { c.queue.Add(key) }

// Run runs the workers until the context ends, and returns when the last worker has stopped. If the context ends before the caches are
// synced and current, no worker starts. The caller starts the informers.
func (c *Controller) Run(ctx context.Context) {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "controller", c.name)
	ctx = klog.NewContext(ctx, logger)
	defer c.queue.ShutDown()
	logger.Info("Waiting for caches")
	if !cache.WaitForCacheSync(ctx.Done(), c.synced()...) {
		logger.Info("Stopped before the caches were synced")
		return
	}
	if c.options.Current != nil {
		if err := c.options.Current(ctx); err != nil {
			logger.Info("Stopped before the caches were current", "err", err)
			return
		}
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
}

// synced returns a check for each informer that is read, and for each handler that must have seen the initial objects. A
// reconcile before that could take a missing object for a deleted one.
func (c *Controller) synced() (all []cache.InformerSynced) {
	if c.options.Informers != nil {
		all = c.options.Informers()
	}
	for _, watch := range c.watches {
		all = append(all, watch.HasSynced)
	}
	return all
}

// next reconciles one key. It returns false once the queue is shut down. A key that is added meanwhile is reconciled again
// after this call, not beside it.
func (c *Controller) next(ctx context.Context) bool {
	key, stop := c.queue.Get()
	if stop {
		return false
	}
	defer c.queue.Done(key)
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "object", klog.KRef(key.Namespace, key.Name))
	done := c.options.Metrics.begin(c.name, c.options.clock())
	result, err := c.recovered(klog.NewContext(ctx, logger), key)
	done(result, err)
	switch {
	case unavailable(err):
		logger.Info("Server is not available, retrying", "err", err, "after", unavailableDelay)
		c.queue.AddAfter(key, unavailableDelay)
	case err != nil:
		c.logFailure(logger, err)
		c.queue.AddRateLimited(key)
		// What the reconcile waits for can be due before the retry.
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

// recovered reconciles one key. A panic is an error of this object: the others must go on.
func (c *Controller) recovered(ctx context.Context, key types.NamespacedName) (result Result, err error) {
	defer recovery.Into(klog.FromContext(ctx), &err)
	return c.reconcile(ctx, key)
}

// unavailableDelay is the retry delay while an API server is unavailable. It does not grow. Otherwise work could wait for many
// more minutes after an outage of hours has ended.
const unavailableDelay = 5 * time.Second

// unavailable reports whether an error says that the API server cannot be reached or asks to wait. The object is not the cause,
// so its retry delay does not grow.
func unavailable(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err)
}

// logFailure keeps failures of normal operation out of the error log.
func (c *Controller) logFailure(logger klog.Logger, err error) {
	if passes(err) {
		logger.V(4).Info("Another client changed the object, or its namespace is being deleted, retrying", "err", err)
		return
	}
	logger.Error(err, "Reconcile failed, retrying")
}

// passes reports whether a failure belongs to normal operation: a conflict passes with the next attempt, and a namespace that is being
// deleted takes the object along. Of several joined errors, all must be of this kind.
func passes(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !passes(err) })
	}
	return apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
