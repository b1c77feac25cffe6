package consistency

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// recheck is the longest delay before a cache is compared again. Usually an event of the cache comes sooner. The delay is needed if
// the event that refreshes the cache is about an object of another owner.
const recheck = 5 * time.Second

// Store is the cache of one resource.
type Store interface {
	// LastStoreSyncResourceVersion returns the version that the store has reached, or "" if the store does not know it.
	LastStoreSyncResourceVersion() string
	GetByKey(key string) (item any, exists bool, err error)
}

// Look reads the version of a resource from the server, past every cache. If a name is given, it also returns the object with
// that name, or nil if it does not exist.
type Look func(ctx context.Context, resource schema.GroupResource, namespace, name string) (version string, found metav1.Object, err error)

// Config is what a guard needs.
type Config struct {
	// Controller is the controller's name in logs and metrics.
	Controller string
	// Kind is the kind of the owners.
	Kind schema.GroupKind
	// Timeout is how long a cache may lag before the server is asked.
	Timeout time.Duration
	Clock   clock.PassiveClock
	Look    Look
	// Metrics may be nil.
	Metrics *Metrics
}

// Guard records writes until the caches show them.
type Guard struct {
	Config
	stores map[schema.GroupResource]Store

	// lock guards records and what they contain. stores needs no lock: it is complete before the first write.
	lock    sync.Mutex
	records map[types.UID]*record
}

// record holds the writes that one owner waits for.
type record struct {
	// since is the time of the last write, or the time when the server was last asked.
	since   time.Time
	wrote   map[schema.GroupResource]string
	deleted map[schema.GroupResource]map[types.NamespacedName]types.UID
}

// Supported returns an error if caches do not report which version they have reached.
func Supported() error {
	if clientfeatures.FeatureGates().Enabled(clientfeatures.AtomicFIFO) {
		return nil
	}
	return errors.New("client-go feature AtomicFIFO is off, so caches do not report which writes they have seen and controllers can act " +
		"twice: remove KUBE_FEATURE_AtomicFIFO=false from the environment")
}

// New returns a guard without caches. Caches are added with Add while the controller is constructed.
func New(config Config) *Guard {
	config.Metrics.begin(config.Controller)
	return &Guard{Config: config, stores: map[schema.GroupResource]Store{}, records: map[types.UID]*record{}}
}

// Add adds the cache of a resource. It must be called before the first write to that resource.
func (g *Guard) Add(resource schema.GroupResource, store Store) { g.stores[resource] = store }

// Wrote records the version that a write in the owner's reconcile returned. An empty version is ignored: the server did not say what
// to wait for. Of several versions of a resource only the newest counts, because a cache that shows it shows the older ones too.
func (g *Guard) Wrote(owner types.UID, resource schema.GroupResource, version string) {
	if version == "" {
		return
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	r := g.record(owner)
	if newer, err := resourceversion.CompareResourceVersion(version, r.wrote[resource]); err != nil || newer > 0 {
		r.wrote[resource] = version
	}
}

// Deleted records an object that the owner's reconcile deleted. The cache shows the deletion as soon as the object has a deletion
// timestamp. Deletions are recorded by name and UID, because typed clients return no version for a deletion.
func (g *Guard) Deleted(owner types.UID, resource schema.GroupResource, object metav1.Object) {
	g.lock.Lock()
	defer g.lock.Unlock()
	r := g.record(owner)
	if r.deleted[resource] == nil {
		r.deleted[resource] = map[types.NamespacedName]types.UID{}
	}
	r.deleted[resource][types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}] = object.GetUID()
}

// record returns the owner's record, for a write that was just made.
func (g *Guard) record(owner types.UID) *record {
	r := g.records[owner]
	if r == nil {
		r = &record{
			wrote: map[schema.GroupResource]string{}, deleted: map[schema.GroupResource]map[types.NamespacedName]types.UID{},
		}
		g.records[owner] = r
	}
	r.since = g.Clock.Now()
	return r
}

// Forget drops the records of a deleted owner. Without this, the records of an owner that never comes back would stay in memory.
func (g *Guard) Forget(owner types.UID) {
	g.lock.Lock()
	defer g.lock.Unlock()
	delete(g.records, owner)
}

// Wait returns zero if the caches show all recorded writes of the owner. Otherwise it returns the delay before it should be
// called again.
func (g *Guard) Wait(ctx context.Context, owner metav1.Object) time.Duration {
	for {
		// A write that turned out to be lost is dropped, and the loop looks for the next one.
		late, since := g.late(owner.GetUID())
		if late == nil {
			return 0
		}
		// Until the timeout, a late cache is normal and the server is not asked.
		if left := g.Timeout - g.Clock.Since(since); left > 0 {
			klog.FromContext(ctx).V(4).Info("Cache has not seen an earlier write", "write", late)
			g.Metrics.stale(g.Controller)
			return min(left, recheck)
		}
		if !g.undone(ctx, owner, late) {
			return recheck
		}
	}
}

// undone asks the server about a write that a cache does not show. It drops the write if the server does not have it.
func (g *Guard) undone(ctx context.Context, owner metav1.Object, late *write) bool {
	logger := klog.FromContext(ctx)
	undone, err := late.undone(ctx, g.Look)
	g.lock.Lock()
	defer g.lock.Unlock()
	r := g.records[owner.GetUID()]
	switch {
	case err != nil:
		logger.Error(err, "Cache did not show a write in time, and reading it from the server failed", "write", late)
	case undone:
		logger.Error(nil, "The server has lost a write: its data was restored from a backup", "write", late)
		g.Metrics.rolledBack(g.Controller)
		if r != nil {
			late.drop(r)
		}
		return true
	default:
		logger.Error(nil, "Cache does not show a write that the server has, waiting for the cache", "write", late, "timeout", g.Timeout)
		g.Metrics.late(g.Kind, owner)
	}
	g.Metrics.stale(g.Controller)
	if r != nil {
		r.since = g.Clock.Now()
	}
	return false
}

// late returns a write that a cache does not show, and the time of the owner's last write. It returns nil if the caches show all
// writes.
func (g *Guard) late(owner types.UID) (*write, time.Time) {
	g.lock.Lock()
	defer g.lock.Unlock()
	r := g.records[owner]
	if r == nil {
		return nil, time.Time{}
	}
	for resource, store := range g.stores {
		if late := r.late(resource, store); late != nil {
			return late, r.since
		}
	}
	delete(g.records, owner)
	return nil, time.Time{}
}
