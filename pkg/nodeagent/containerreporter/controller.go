package containerreporter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/nodeagent/cluster"
	"kruise.io/kruise/pkg/nodeagent/containerstop"
	"kruise.io/kruise/pkg/reconcile"
)

const (
	// The queue names in metrics.
	reporterName  = "runtime_container_meta"
	restarterName = "runtime_container_meta_restarter"

	// leastResync is the shortest resync period. Each node adds a random part, so that agents do not resync at the same time.
	leastResync = 5 * time.Minute
)

// Config configures a Controller. All fields except Environment are required.
type Config struct {
	// Runtime returns the runtime with a name, which is the scheme of container IDs, or nil.
	Node    string
	Client  cluster.Interface
	Runtime func(name string) Runtime
	// Environment enables reports of variables that read Pod metadata. It also enables restarts when the metadata changes.
	Environment bool
	Recorder    record.EventRecorder
	Clock       clock.WithTicker
}

// Controller reports on the containers of the Pods of one node. It has two queues: a restart can take as long as the
// grace period of a container, and must not delay reports.
type Controller struct {
	config   Config
	informer cache.SharedIndexInformer
	reports  *reconcile.Controller
	restarts *reconcile.Controller
	stopper  containerstop.Stopper
	// written has our own writes until the cache shows them.
	written *cluster.Writes
	// stops runs the stops of containers beside the workers.
	stops containerstop.Stops
	// settling holds the instances to restart, by Pod and container name. mu guards it.
	mu       sync.Mutex
	settling map[types.NamespacedName]map[string]settling
}

// New creates a controller. It starts nothing; call Run.
func New(config Config) (*Controller, error) {
	resync := leastResync + rand.N(leastResync) //nolint:gosec // Spreading load needs no secret.
	c := &Controller{
		config: config, stopper: containerstop.Stopper{Clock: config.Clock}, written: cluster.NewWrites(config.Clock),
		settling: map[types.NamespacedName]map[string]settling{},
		informer: cache.NewSharedIndexInformer(podsOf(config.Client, config.Node), &corev1.Pod{}, resync, cache.Indexers{}),
	}
	// Retries of a report are quick, because an update waits for it. Those of a restart are slow, because each one
	// may run a preStop hook again.
	c.reports = reconcile.New(reporterName, reconcile.Options{
		Workers: 5, BaseDelay: 500 * time.Millisecond, MaxDelay: 55 * time.Second, Clock: config.Clock,
	}, c.reconcile)
	c.restarts = reconcile.New(restarterName, reconcile.Options{
		Workers: 10, BaseDelay: 3 * time.Second, MaxDelay: 10 * time.Minute, Clock: config.Clock,
	}, c.restart)
	if err := c.informer.SetTransform(trim); err != nil {
		return nil, fmt.Errorf("trim Pods: %w", err)
	}
	_, err := c.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) { c.seen(nil, obj, initial) }, UpdateFunc: func(before, after any) { c.seen(before, after, false) },
		DeleteFunc: c.forget,
	})
	if err != nil {
		return nil, fmt.Errorf("watch Pods: %w", err)
	}
	return c, nil
}

// podsOf lists and watches the Pods of the node. Pods that are not scheduled yet appear when they get the node.
func podsOf(client cluster.Interface, node string) cache.ListerWatcher {
	selector := fields.OneTermEqualSelector("spec.nodeName", node).String()
	return cluster.ListerWatcher(client, client.Pods(metav1.NamespaceAll), func(o *metav1.ListOptions) { o.FieldSelector = selector })
}

// Synced returns true when the cache holds the Pods of the node.
func (c *Controller) Synced() bool { return c.informer.HasSynced() }

// Run runs the controller until ctx ends. The restart queue can start at once, because only reports add to it, and
// they wait for the cache.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	defer c.stops.Wait()
	running.Go(func() { c.informer.RunWithContext(ctx) })
	running.Go(func() { c.restarts.Run(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		c.reports.Run(ctx)
	}
}

// seen enqueues a Pod whose report is outdated. A Pod that existed before the agent started and has no report is not
// enqueued until it changes. Otherwise a newly installed agent would write to every Pod.
func (c *Controller) seen(before, obj any, initial bool) {
	after, ok := obj.(*knownPod)
	if !ok || !after.outdated(c.config.Environment) {
		return
	}
	// The Pod was created while the agent ran.
	changed := before == nil && !initial
	if old, ok := before.(*knownPod); ok {
		changed = !after.sameAs(old)
	}
	if changed || after.report != nil || after.held {
		c.reports.Add(types.NamespacedName{Namespace: after.Namespace, Name: after.Name})
	}
}

// forget drops what is kept about a deleted Pod. A Pod with the same name that is created later starts anew.
func (c *Controller) forget(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if gone, ok := obj.(*knownPod); ok {
		c.written.Forget(gone.UID)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.settling, types.NamespacedName{Namespace: gone.Namespace, Name: gone.Name})
	}
}

// get returns the cached Pod, or nil.
func (c *Controller) get(key types.NamespacedName) *knownPod {
	item, exists, err := c.informer.GetIndexer().GetByKey(key.String())
	if err != nil || !exists {
		return nil
	}
	r, ok := item.(*knownPod)
	if !ok {
		return nil
	}
	return r
}
