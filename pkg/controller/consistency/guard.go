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

// recheck is how soon a cache is compared again, should the event that refreshes it concern no object of the owner.
const recheck = 5 * time.Second

// Store is the cache of one resource.
type Store interface {
	// LastStoreSyncResourceVersion is the version that the store has reached, or empty when it does not say.
	LastStoreSyncResourceVersion() string
	GetByKey(key string) (item any, exists bool, err error)
}

// Look asks the server, past every cache, for its version of a resource. With a name it also asks for that object, and returns
// nil when there is none.
type Look func(ctx context.Context, resource schema.GroupResource, namespace, name string) (version string, found metav1.Object, err error)

// Config is what a guard needs.
type Config struct {
	// Controller is its name, in logs and metrics.
	Controller string
	// Kind is that of the owners.
	Kind schema.GroupKind
	// Timeout is how long a cache may be late before the server is asked.
	Timeout time.Duration
	Clock   clock.PassiveClock
	Look    Look
	// Metrics may be nil.
	Metrics *Metrics
}

// Guard remembers writes until the caches show them.
type Guard struct {
	Config
	stores map[schema.GroupResource]Store

	lock    sync.Mutex
	records map[types.UID]*record
}

// record is what one owner waits for.
type record struct {
	// since is the last write, or the time when the server was last asked.
	since   time.Time
	wrote   map[schema.GroupResource]string
	deleted map[schema.GroupResource]map[types.NamespacedName]types.UID
}

// Supported returns an error when caches cannot say what they have seen.
func Supported() error {
	if clientfeatures.FeatureGates().Enabled(clientfeatures.AtomicFIFO) {
		return nil
	}
	return errors.New("client-go's feature AtomicFIFO is off, so caches do not say which writes they have seen, and a controller " +
		"would act twice: remove KUBE_FEATURE_AtomicFIFO=false from the environment")
}

// New makes a guard that looks after no cache yet.
func New(config Config) *Guard {
	return &Guard{Config: config, stores: map[schema.GroupResource]Store{}, records: map[types.UID]*record{}}
}

// Add makes the guard look after the cache of a resource. It is called before the first write.
func (g *Guard) Add(resource schema.GroupResource, store Store) { g.stores[resource] = store }

// Wrote records the version that a write of the owner's reconcile returned.
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

// Deleted records an object that the owner's reconcile deleted. It is seen as soon as its deletion has begun.
func (g *Guard) Deleted(owner types.UID, resource schema.GroupResource, object metav1.Object) {
	g.lock.Lock()
	defer g.lock.Unlock()
	r := g.record(owner)
	if r.deleted[resource] == nil {
		r.deleted[resource] = map[types.NamespacedName]types.UID{}
	}
	r.deleted[resource][types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}] = object.GetUID()
}

// record returns the owner's record, for a write that was made now.
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

// Forget drops what was recorded for an owner that is gone.
func (g *Guard) Forget(owner types.UID) {
	g.lock.Lock()
	defer g.lock.Unlock()
	delete(g.records, owner)
}

// Wait returns zero when the caches show all that was recorded for the owner, and otherwise how soon to ask again.
func (g *Guard) Wait(ctx context.Context, owner metav1.Object) time.Duration {
	for {
		late, since := g.late(owner.GetUID())
		if late == nil {
			return 0
		}
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

// undone asks the server about a write that a cache does not show, and drops it where the server does not have it.
func (g *Guard) undone(ctx context.Context, owner metav1.Object, late *write) bool {
	logger := klog.FromContext(ctx)
	undone, err := late.undone(ctx, g.Look)
	g.lock.Lock()
	defer g.lock.Unlock()
	r := g.records[owner.GetUID()]
	switch {
	case err != nil:
		logger.Error(err, "Cache did not show a write in time, and the server cannot be asked", "write", late)
	case undone:
		logger.Error(nil, "The server has lost a write: its data was restored from an earlier state", "write", late)
		g.Metrics.rolledBack(g.Controller)
		if r != nil {
			late.drop(r)
		}
		return true
	default:
		logger.Error(nil, "Cache does not show a write that the server has: waiting for the cache", "write", late, "timeout", g.Timeout)
		g.Metrics.late(g.Kind, owner)
	}
	g.Metrics.stale(g.Controller)
	if r != nil {
		r.since = g.Clock.Now()
	}
	return false
}

// late returns a write that a cache does not show, and when the owner's last write was; nil when the caches show all.
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
