package imagepuller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/nodeagent/cluster"
	"kruise.io/kruise/pkg/nodeagent/credentials"
	"kruise.io/kruise/pkg/reconcile"
)

const (
	name = "imagepuller"

	// leastResync is the shortest resync period. Each node adds a random part, so that agents do not resync at the same time.
	leastResync = 5 * time.Minute

	// Status writes are limited to one in two seconds, after a short burst.
	writesPerSecond = 0.5
	writeBurst      = 5
)

// Images lists the CRI image calls that this package makes.
type Images interface {
	ImageStatus(ctx context.Context, image *runtimeapi.ImageSpec, verbose bool) (*runtimeapi.ImageStatusResponse, error)
	PullImage(ctx context.Context, image *runtimeapi.ImageSpec, auth *runtimeapi.AuthConfig,
		sandbox *runtimeapi.PodSandboxConfig) (string, error)
}

// Config configures a Controller. All fields except MaxPulls are required.
type Config struct {
	Node   string
	Client cluster.Interface
	// Images returns the runtime that the kubelet uses. It can fail for some time if the node has several.
	Images func(context.Context) (Images, error)
	// Secrets returns the existing pull secrets among those that the NodeImage of the node names.
	Secrets func(context.Context) ([]corev1.Secret, error)
	Plugins *credentials.Plugins
	// MaxPulls is how many images are pulled at once. Zero or less means no limit.
	MaxPulls int
	Recorder record.EventRecorder
	Clock    clock.WithTicker
}

// Controller pulls the images of one node. Its queue has one key and one worker, which decides what runs. Each pull
// runs in a goroutine of its own and asks the worker to write its progress.
type Controller struct {
	config   Config
	informer cache.SharedIndexInformer
	queue    *reconcile.Controller
	secrets  *secrets
	// slots limits parallel pulls. It is nil if there is no limit.
	slots   *semaphore.Weighted
	running sync.WaitGroup

	// Only the single worker of the queue may access the fields below, so they need no lock. uid is the one of the
	// NodeImage that the pulls are for.
	uid   types.UID
	pulls map[imageTag]*pull
	// began is when the last pull began. wrote is our last write.
	began  time.Time
	wrote  cluster.Written[*v1beta1.NodeImage]
	writes *rate.Limiter
}

// New creates a controller. It starts nothing; call Run. Several events of the NodeImage at once are one pass,
// because the queue has one key.
func New(config Config) (*Controller, error) {
	resync := leastResync + rand.N(leastResync) //nolint:gosec // Spreading load needs no secret.
	// The API server authorizes the agent only with this selector.
	own := fields.OneTermEqualSelector(metav1.ObjectNameField, config.Node).String()
	source := cluster.ListerWatcher(config.Client, config.Client.NodeImages(), func(o *metav1.ListOptions) { o.FieldSelector = own })
	c := &Controller{
		config: config, pulls: map[imageTag]*pull{}, writes: rate.NewLimiter(writesPerSecond, writeBurst),
		secrets:  &secrets{read: config.Secrets, clock: config.Clock},
		informer: cache.NewSharedIndexInformer(source, &v1beta1.NodeImage{}, resync, cache.Indexers{}),
	}
	if config.MaxPulls > 0 {
		c.slots = semaphore.NewWeighted(int64(config.MaxPulls))
	}
	c.queue = reconcile.New(name, reconcile.Options{
		Workers: 1, BaseDelay: 500 * time.Millisecond, MaxDelay: 55 * time.Second, Clock: config.Clock,
	}, c.reconcile)
	if err := c.informer.SetTransform(cluster.Trim); err != nil {
		return nil, fmt.Errorf("trim NodeImages: %w", err)
	}
	return c, c.queue.Watch(c.informer, func(metav1.Object) []types.NamespacedName { return []types.NamespacedName{c.key()} })
}

// Synced returns true when the cache is filled. The node may have no NodeImage.
func (c *Controller) Synced() bool { return c.informer.HasSynced() }

// Run runs the controller until ctx ends, and then cancels the running pulls. The next agent starts those pulls again.
func (c *Controller) Run(ctx context.Context) {
	// The pulls and the informer end with the context.
	defer c.running.Wait()
	c.running.Go(func() { c.informer.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		c.queue.Run(ctx)
	}
}

// key returns the only key that the queue ever contains.
func (c *Controller) key() types.NamespacedName { return types.NamespacedName{Name: c.config.Node} }
