package gated

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/tools/cache"
)

// watchCache puts a watch cache in front of a storage. The decorator of the generic server connects and caches in one
// step, so this package could not add a check between the two.
func watchCache(
	below storage.Interface, config *storagebackend.ConfigForResource, prefix string, keyFunc func(obj runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
) (storage.Interface, func(), error) {
	c, err := cacher.NewCacherFromConfig(cacher.Config{
		Storage:             below,
		Versioner:           storage.APIObjectVersioner{},
		GroupResource:       config.GroupResource,
		EventsHistoryWindow: config.EventsHistoryWindow,
		ResourcePrefix:      prefix,
		KeyFunc:             keyFunc,
		NewFunc:             newFunc,
		NewListFunc:         newListFunc,
		GetAttrsFunc:        attributes,
		IndexerFuncs:        triggers,
		Indexers:            indexers,
		Codec:               config.Codec,
	})
	if err != nil {
		return nil, nil, err
	}
	front := cacher.NewCacheDelegator(c, below)
	// The delegator is stopped before the cache, as its requests use the cache.
	return front, sync.OnceFunc(func() { front.Stop(); c.Stop() }), nil
}

// noCache passes every request to the store. It is for kinds whose objects must not stay in memory.
func noCache(
	below storage.Interface, _ *storagebackend.ConfigForResource, _ string, _ func(obj runtime.Object) (string, error),
	_, _ func() runtime.Object, _ storage.AttrFunc, _ storage.IndexerFuncs, _ *cache.Indexers,
) (storage.Interface, func(), error) {
	return below, func() {}, nil
}
