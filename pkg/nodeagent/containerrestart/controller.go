package containerrestart

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/nodeagent/cluster"
	"kruise.io/kruise/pkg/nodeagent/containerstop"
	"kruise.io/kruise/pkg/reconcile"
)

const (
	// name is the queue name in metrics. waitingName is the name of the queue that updates waiting requests.
	name        = "crr"
	waitingName = "crr_waiting"
	// DefaultWorkers is how many Pods are processed in parallel. No worker waits for a container to stop, so the
	// number does not limit how many containers stop at once.
	DefaultWorkers = 32

	waitingWorkers = 8

	// baseDelay and maxDelay are the delays after an error, for example of the runtime. A request waits for the
	// result, so they are short.
	baseDelay, maxDelay = 500 * time.Millisecond, 55 * time.Second
	// leastResync is the shortest resync period. Each node adds a random part, so that agents do not resync at the same time.
	leastResync = 30 * time.Second
)

// podIndex indexes requests by the UID of their Pod.
const podIndex = "podUID"

// Config configures a Controller. All fields are required.
type Config struct {
	Node string
	// Client reads and writes requests. It also reads Pods, for the address that an HTTP hook uses.
	Client cluster.Interface
	// Runtime returns the runtime with a name, which is the scheme of container IDs, or nil.
	Runtime  func(name string) Runtime
	Recorder record.EventRecorder
	Clock    clock.WithTicker
	Workers  int
}

// Controller carries out the requests for the Pods of one node.
type Controller struct {
	config Config
	// ofThisNode selects the requests of the node, selector those of them that are active.
	ofThisNode, selector string
	informer             cache.SharedIndexInformer
	// pods carries out requests. waiting updates the requests that wait.
	pods    *reconcile.Controller
	waiting *reconcile.Controller
	stopper containerstop.Stopper
	// stops runs the stops beside the workers. written has our own writes until the cache shows them.
	stops   containerstop.Stops
	written *cluster.Writes
}

// New creates a controller. It starts nothing; call Run.
func New(config Config) (*Controller, error) {
	c := &Controller{
		config: config, stopper: containerstop.Stopper{Clock: config.Clock}, written: cluster.NewWrites(config.Clock),
		ofThisNode: labels.SelectorFromSet(labels.Set{pub.ContainerRecreateRequestNodeNameKey: config.Node}).String(),
		selector: labels.SelectorFromSet(labels.Set{
			pub.ContainerRecreateRequestNodeNameKey: config.Node, pub.ContainerRecreateRequestActiveKey: "true",
		}).String(),
	}
	resync := leastResync + rand.N(leastResync) //nolint:gosec // Spreading load needs no secret.
	c.informer = cache.NewSharedIndexInformer(c.ofNode(), &v1beta1.ContainerRecreateRequest{}, resync, cache.Indexers{podIndex: podUID})
	c.pods = reconcile.New(name, reconcile.Options{
		Workers: config.Workers, BaseDelay: baseDelay, MaxDelay: maxDelay, Clock: config.Clock,
	}, c.reconcile)
	c.waiting = reconcile.New(waitingName, reconcile.Options{
		Workers: waitingWorkers, BaseDelay: baseDelay, MaxDelay: maxDelay, Clock: config.Clock,
	}, c.hold)
	if err := c.informer.SetTransform(cluster.Trim); err != nil {
		return nil, fmt.Errorf("trim requests: %w", err)
	}
	// Every event enqueues the Pod, even if the request is completed, deleted or no longer active. Another request
	// may be waiting for that one.
	for _, queue := range []*reconcile.Controller{c.pods, c.waiting} {
		if err := queue.Watch(c.informer, podOf); err != nil {
			return nil, err
		}
	}
	_, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: c.forget})
	if err != nil {
		return nil, fmt.Errorf("watch requests: %w", err)
	}
	return c, nil
}

// ofNode lists and watches the active requests of the node. The API server lets the agent see no others.
func (c *Controller) ofNode() cache.ListerWatcher {
	requests := c.config.Client.ContainerRecreateRequests(metav1.NamespaceAll)
	return cluster.ListerWatcher(c.config.Client, requests, func(o *metav1.ListOptions) { o.LabelSelector = c.selector })
}

// podUID is the index function of podIndex. The label is set by admission and immutable.
func podUID(obj any) ([]string, error) {
	request, ok := obj.(*v1beta1.ContainerRecreateRequest)
	if !ok {
		return nil, nil
	}
	return []string{request.Labels[pub.ContainerRecreateRequestPodUIDKey]}, nil
}

// podOf returns the queue key of a request. The key's name is the UID of the Pod, so a new Pod with the same name has its own requests.
func podOf(request metav1.Object) []types.NamespacedName {
	return []types.NamespacedName{{
		Namespace: request.GetNamespace(), Name: request.GetLabels()[pub.ContainerRecreateRequestPodUIDKey],
	}}
}

// forget drops our last write to a request that left the cache. A request leaves it also when it is no longer active.
func (c *Controller) forget(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if gone, ok := obj.(metav1.Object); ok {
		c.written.Forget(gone.GetUID())
	}
}

// Synced returns true when the cache holds the requests of the node.
func (c *Controller) Synced() bool { return c.informer.HasSynced() }

// Run runs the controller until ctx ends, and then waits for the running stops. A stop that is canceled is repeated
// by the next agent.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	defer c.stops.Wait()
	running.Go(func() { c.informer.RunWithContext(ctx) })
	running.Go(func() { c.waiting.Run(ctx) })
	c.pods.Run(ctx)
}
