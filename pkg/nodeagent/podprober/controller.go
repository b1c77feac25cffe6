package podprober

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/nodeagent/cluster"
	"kruise.io/kruise/pkg/nodeagent/handler"
	"kruise.io/kruise/pkg/reconcile"
)

const (
	// specName and statusName are the queue names in metrics.
	specName   = "sync_node_pod_probe"
	statusName = "update_node_pod_probe_status"

	// leastResync is the shortest resync period. Each node adds a random part, so that agents do not resync at the same time.
	leastResync = 5 * time.Minute
)

// Runtime lists the CRI calls that this package makes.
type Runtime interface {
	handler.Runtime
	ListContainers(ctx context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error)
	ContainerStatus(ctx context.Context, containerID string, verbose bool) (*runtimeapi.ContainerStatusResponse, error)
}

// Config configures a Controller. All fields are required.
type Config struct {
	Node   string
	Client cluster.Interface
	// Runtimes are the runtimes of the node. A Pod's containers are in one of them.
	Runtimes []Runtime
	Recorder record.EventRecorder
	Clock    clock.WithTicker
}

// Controller runs the probes of one node. One worker applies the spec to the schedule, another writes the results.
// The probes themselves run in goroutines of the schedule.
type Controller struct {
	config   Config
	informer cache.SharedIndexInformer
	specs    *reconcile.Controller
	statuses *reconcile.Controller
	// began is when the cache was filled. Only Run writes it, before the workers start.
	began time.Time

	// mu protects the schedule and the results of its probes.
	mu       sync.Mutex
	schedule *schedule

	// Only the single worker of statuses may access the fields below, so they need no lock. refresh is the age at
	// which a report is written again.
	wrote   cluster.Written[*v1alpha1.NodePodProbe]
	wroteAt time.Time
	writes  *rate.Limiter
	refresh time.Duration
	paces   paces
}

// New creates a controller. It starts nothing; call Run.
func New(config Config) (*Controller, error) {
	resync := leastResync + rand.N(leastResync) //nolint:gosec // Spreading load needs no secret.
	own := fields.OneTermEqualSelector(metav1.ObjectNameField, config.Node).String()
	source := cluster.ListerWatcher(config.Client, config.Client.NodePodProbes(), func(o *metav1.ListOptions) { o.FieldSelector = own })
	c := &Controller{
		config: config, writes: rate.NewLimiter(writesPerSecond, writeBurst), paces: paces{},
		refresh:  leastRefresh + rand.N(leastRefresh/10), //nolint:gosec // See above.
		informer: cache.NewSharedIndexInformer(source, &v1alpha1.NodePodProbe{}, resync, cache.Indexers{}),
	}
	c.schedule = newSchedule(config.Clock, &c.mu, c.run)
	options := reconcile.Options{Workers: 1, BaseDelay: 500 * time.Millisecond, MaxDelay: 55 * time.Second, Clock: config.Clock}
	c.specs = reconcile.New(specName, options, c.sync)
	c.statuses = reconcile.New(statusName, options, c.report)
	if err := c.informer.SetTransform(cluster.Trim); err != nil {
		return nil, fmt.Errorf("trim NodePodProbes: %w", err)
	}
	return c, c.specs.Watch(c.informer, func(metav1.Object) []types.NamespacedName { return []types.NamespacedName{c.key()} })
}

// Synced returns true when the cache is filled. The node may have no NodePodProbe.
func (c *Controller) Synced() bool { return c.informer.HasSynced() }

// Run runs the probes until ctx ends, and then waits for the running ones, which are canceled.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { c.informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		return
	}
	c.began = c.config.Clock.Now()
	running.Go(func() { c.schedule.Run(ctx) })
	running.Go(func() { c.statuses.Run(ctx) })
	c.specs.Run(ctx)
}

// key returns the only key that the queues ever contain.
func (c *Controller) key() types.NamespacedName { return types.NamespacedName{Name: c.config.Node} }

// nodePodProbe returns the cached NodePodProbe, or nil if it does not exist.
func (c *Controller) nodePodProbe() (*v1alpha1.NodePodProbe, error) {
	item, exists, err := c.informer.GetIndexer().GetByKey(c.config.Node)
	if err != nil {
		return nil, fmt.Errorf("look up the NodePodProbe: %w", err)
	}
	cached, ok := item.(*v1alpha1.NodePodProbe)
	if !exists || !ok || cached.DeletionTimestamp != nil {
		return nil, nil //nolint:nilnil // It does not exist.
	}
	return cached, nil
}

// sync starts, changes and stops probes according to the NodePodProbe. Without one, it stops all. The published
// results are taken over by new probes, so an agent that restarts does not change what the API shows.
func (c *Controller) sync(ctx context.Context, _ types.NamespacedName) (reconcile.Result, error) {
	node, err := c.nodePodProbe()
	if err != nil {
		return reconcile.Result{}, err
	}
	// Without a NodePodProbe, nothing is wanted.
	if node == nil {
		node = &v1alpha1.NodePodProbe{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The status is read before the first write of this agent, so it is that of the agent before it.
	published := publishedIn(&node.Status)
	now := c.config.Clock.Now()
	wanted := map[probeKey]bool{}
	for i := range node.Spec.PodProbes {
		entry := &node.Spec.PodProbes[i]
		pod := podKey{entry.Namespace, entry.Name, types.UID(entry.UID)}
		for j := range entry.Probes {
			key := probeKey{pod, entry.Probes[j].Name}
			wanted[key] = true
			c.set(key, entry.IP, &entry.Probes[j], published[key], now)
		}
	}
	c.schedule.keep(wanted)
	klog.FromContext(ctx).V(4).Info("Synced probes", "probes", len(wanted))
	c.statuses.Add(c.key())
	return reconcile.Result{}, nil
}

// set adds or changes one probe. The caller holds mu. A changed handler runs at once and starts the counts again; a
// changed period or delay only moves the next run. Other changes apply at the next run.
func (c *Controller) set(key probeKey, ip string, spec *v1alpha1.ContainerProbe, published *v1alpha1.ContainerProbeState, now time.Time) {
	p := c.schedule.probes[key]
	if p == nil {
		p = &probe{key: key, container: spec.ContainerName, spec: spec.Probe.Probe, result: resume(published)}
		c.schedule.add(p, ip, c.first(p, now))
		return
	}
	p.pod.ip = ip
	before := p.spec
	p.spec = spec.Probe.Probe
	switch {
	case p.container != spec.ContainerName || !apiequality.Semantic.DeepEqual(before.ProbeHandler, p.spec.ProbeHandler):
		// An outcome of the old handler says nothing about the new one.
		p.container = spec.ContainerName
		p.version++
		p.result.restart()
		c.schedule.at(p, now)
	case before.PeriodSeconds != p.spec.PeriodSeconds, before.InitialDelaySeconds != p.spec.InitialDelaySeconds:
		// The next run may become earlier, but a longer period does not delay the run that is already planned.
		c.schedule.at(p, earlier(p.due, now.Add(p.period())))
	}
}

// first returns when a new probe runs for the first time: now, or within the first period of the agent. Otherwise all probes of
// a node would run at the same time after a restart of the agent.
func (c *Controller) first(p *probe, now time.Time) time.Time {
	if now.Sub(c.began) >= p.period() {
		return now
	}
	return now.Add(rand.N(p.period())) //nolint:gosec // Spreading load needs no secret.
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// reference returns the container of a probe, for events.
func (p *probe) reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: p.key.pod.namespace, Name: p.key.pod.name, UID: p.key.pod.uid,
		FieldPath: "spec.containers{" + p.container + "}",
	}
}
