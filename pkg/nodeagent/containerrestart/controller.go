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
	// name is the queue's in metrics, waitingName that of the requests that wait for another one.
	name        = "crr"
	waitingName = "crr_waiting"
	// DefaultWorkers is on how many Pods the agent works at once. Each may wait for a container to end.
	DefaultWorkers = 32

	waitingWorkers = 8

	baseDelay, maxDelay = 500 * time.Millisecond, 55 * time.Second
	// leastResync heals what was lost, at other times on each node.
	leastResync = 30 * time.Second
)

// podIndex finds requests by the UID of their Pod.
const podIndex = "podUID"

// Config is what the controller needs.
type Config struct {
	Node string
	// Client reads and writes requests, and reads Pods for the address that a hook goes to.
	Client   cluster.Interface
	Runtime  func(name string) Runtime
	Recorder record.EventRecorder
	Clock    clock.WithTicker
	Workers  int
}

// Controller works on the requests of one node.
type Controller struct {
	config   Config
	selector string
	informer cache.SharedIndexInformer
	// pods makes steps, which may take as long as a container takes to end; waiting tells requests meanwhile that they wait.
	pods    *reconcile.Controller
	waiting *reconcile.Controller
	stopper containerstop.Stopper
	written versions
}

// New makes a controller that does nothing until Run.
func New(config Config) (*Controller, error) {
	c := &Controller{
		config: config, stopper: containerstop.Stopper{Clock: config.Clock}, written: versions{clock: config.Clock},
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
	// Every event brings a pass over the Pod, also that of a request that ends, goes, or is no longer active: another one
	// may wait for it.
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

// ofNode lists and watches the requests that are the agent's business. It may see no others.
func (c *Controller) ofNode() cache.ListerWatcher {
	requests := c.config.Client.ContainerRecreateRequests(metav1.NamespaceAll)
	return cluster.ListerWatcher(c.config.Client, requests, func(o *metav1.ListOptions) { o.LabelSelector = c.selector })
}

func podUID(obj any) ([]string, error) {
	request, ok := obj.(*v1beta1.ContainerRecreateRequest)
	if !ok {
		return nil, nil
	}
	return []string{request.Labels[pub.ContainerRecreateRequestPodUIDKey]}, nil
}

// podOf is the key of the request's Pod. It has the Pod's UID for its name: a Pod that another one of that name follows has
// requests of its own.
func podOf(request metav1.Object) []types.NamespacedName {
	return []types.NamespacedName{{
		Namespace: request.GetNamespace(), Name: request.GetLabels()[pub.ContainerRecreateRequestPodUIDKey],
	}}
}

func (c *Controller) forget(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if gone, ok := obj.(metav1.Object); ok {
		c.written.forget(gone.GetUID())
	}
}

// Synced tells whether the requests of the node are known.
func (c *Controller) Synced() bool { return c.informer.HasSynced() }

// Run works until the context ends.
func (c *Controller) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running.Go(func() { c.informer.RunWithContext(ctx) })
	running.Go(func() { _ = c.waiting.Run(ctx) }) // It fails with the other one alone: when the caches cannot be filled.
	if err := c.pods.Run(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil // It was told to end, maybe before it had begun.
}
