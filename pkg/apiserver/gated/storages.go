package gated

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// Gate tells the storages whether the store may be used. It is called for each request, so its methods must not
// block. pkg/apiserver/guard implements it.
type Gate interface {
	// Check returns nil while the store may be used, else the error for clients.
	Check() error
	// Room returns nil while there is space for more than deletions, statuses and finalizers, else the error for clients.
	Room() error
	// Wrote is called before each write.
	Wrote()
	// Explain translates the error of a write into the error for clients.
	Explain(err error) error
}

// Storages holds the storages of all kinds. All are closed at first. The groups are installed, and so discovery
// works, before the first of them opens.
type Storages struct {
	gate     Gate
	uncached sets.Set[schema.GroupResource]

	// lock guards all, and makes calls of Open wait for each other.
	lock sync.Mutex
	all  []*deferred
}

// New returns an empty set. The uncached resources get no watch cache.
func New(gate Gate, uncached ...schema.GroupResource) *Storages {
	return &Storages{gate: gate, uncached: sets.New(uncached...)}
}

// Options returns REST options that create the storages of this set. next provides everything else, such as the
// connection to etcd and the storage versions.
func (s *Storages) Options(next generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return &options{next: next, storages: s}
}

// Open opens all closed storages. It returns the first error; storages that are already open stay open.
func (s *Storages) Open(ctx context.Context) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, d := range s.all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.openOnce(); err != nil {
			return fmt.Errorf("open the store of %s: %w", d.resource, err)
		}
	}
	return nil
}

// add registers a storage that is still closed. It is called while the groups are installed.
func (s *Storages) add(d *deferred) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.all = append(s.all, d)
}

// options replaces the decorator of the generic server, which connects at once.
type options struct {
	next     generic.RESTOptionsGetter
	storages *Storages
}

// GetRESTOptions implements generic.RESTOptionsGetter. The storages of one kind form layers, from the client to etcd:
// reached, checked, reserve, deferred, the watch cache, checked, the raw storage.
func (o *options) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	found, err := o.next.GetRESTOptions(resource, example)
	if err != nil {
		return found, err
	}
	gate, front := o.storages.gate, watchCache
	if o.storages.uncached.Has(resource) {
		front = noCache
	}
	found.Decorator = func(
		config *storagebackend.ConfigForResource, prefix string, keyFunc func(obj runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		d := &deferred{resource: resource, gate: gate, open: func() (storage.Interface, factory.DestroyFunc, error) {
			raw, disconnect, err := generic.NewRawStorage(config, newFunc, newListFunc, prefix)
			if err != nil {
				return nil, nil, err
			}
			// Check the gate below the cache as well. A cache that is filled again from another store would tell
			// every watcher that the objects are gone.
			below := &checked{Interface: raw, gate: gate}
			served, stop, err := front(below, config, prefix, keyFunc, newFunc, newListFunc, attributes, triggers, indexers)
			if err != nil {
				disconnect()
				return nil, nil, err
			}
			return served, func() { stop(); disconnect() }, nil
		}}
		o.storages.add(d)
		kept := &reserve{Interface: d, gate: gate, codec: config.Codec}
		return &reached{Interface: &checked{Interface: kept, gate: gate}}, d.destroy, nil
	}
	return found, nil
}
