package apiserver

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/component-base/featuregate"
)

// StorageFactory defines how each resource is stored, in the version that its kind names. The version does not depend
// on the order of the versions in the scheme, so a new served version does not change what is stored.
type StorageFactory struct {
	config     storagebackend.Config
	mediaType  string
	serializer runtime.StorageSerializer
	stored     map[schema.GroupResource]schema.GroupVersion
	sets       *fieldSets
}

var _ serverstorage.StorageFactory = &StorageFactory{}

// NewStorageFactory returns the factory for all kinds.
func NewStorageFactory(
	gate featuregate.FeatureGate, config storagebackend.Config, mediaType string, serializer runtime.StorageSerializer,
) *StorageFactory {
	f := &StorageFactory{
		config: config, mediaType: mediaType, serializer: serializer,
		stored: map[schema.GroupResource]schema.GroupVersion{}, sets: newFieldSets(),
	}
	for _, kind := range Kinds(gate) {
		f.stored[kind.Resource()] = kind.StoredVersion()
	}
	return f
}

// NewConfig implements serverstorage.StorageFactory. A resource outside the tables is an error: without a table entry
// nobody would have decided how it is stored.
func (f *StorageFactory) NewConfig(resource schema.GroupResource, _ runtime.Object) (*storagebackend.ConfigForResource, error) {
	version, ok := f.stored[resource]
	if !ok {
		return nil, fmt.Errorf("no table of kinds contains resource %s", resource)
	}
	// The copy shares the connection settings; only the codec differs by resource.
	config := f.config
	codec, versioner, err := serverstorage.NewStorageCodec(serverstorage.StorageCodecConfig{
		StorageMediaType:  f.mediaType,
		StorageSerializer: f.serializer,
		StorageVersion:    version,
		MemoryVersion:     schema.GroupVersion{Group: resource.Group, Version: runtime.APIVersionInternal},
		Config:            config,
	})
	if err != nil {
		return nil, fmt.Errorf("create the codec of %s: %w", resource, err)
	}
	config.Codec, config.EncodeVersioner = sharingCodec{codec, f.sets}, versioner
	return config.ForResource(resource), nil
}

// ResourcePrefix returns the part of the key that separates resources. Stored objects have it in their keys, so it
// must not change. It contains the group, because two groups could have a resource of the same name.
func (*StorageFactory) ResourcePrefix(resource schema.GroupResource) string {
	return resource.Group + "/" + resource.Resource
}

// Configs implements serverstorage.StorageFactory. There is only one store.
func (f *StorageFactory) Configs() []storagebackend.Config {
	return serverstorage.Configs(f.config)
}

// Backends implements serverstorage.StorageFactory.
func (f *StorageFactory) Backends() []serverstorage.Backend {
	return serverstorage.Backends(f.config)
}
