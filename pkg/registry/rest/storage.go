package rest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
)

// store is the main resource. It is the generic store with the names for kubectl.
type store[T Object] struct {
	*registry.Store
	kind *Kind[T]
	// turns is nil if the kind is not exclusive.
	turns Turns
	// effects is nil if the answers to writes wait for nothing.
	effects Effects
}

var (
	_ genericrest.StandardStorage      = &store[Object]{}
	_ genericrest.ShortNamesProvider   = &store[Object]{}
	_ genericrest.CategoriesProvider   = &store[Object]{}
	_ genericrest.SingularNameProvider = &store[Object]{}
	_ genericrest.TableConvertor       = &store[Object]{}
	_ Owned                            = &store[Object]{}
)

// ShortNames returns the short names for kubectl.
func (s *store[T]) ShortNames() []string { return s.kind.Short }

// Categories returns the kubectl categories of the kind.
func (s *store[T]) Categories() []string { return s.kind.Categories }

// GetSingularName returns the singular name of the kind.
func (s *store[T]) GetSingularName() string { return s.kind.Singular }

// Storage implements AnyKind. A write passes, in this order: the feature gate, the size of a large request, the strategy, validating
// admission, and the size of the encoded object in front of etcd. So a user learns first what no change of the object could mend.
func (k *Kind[T]) Storage(
	scheme *runtime.Scheme, options generic.RESTOptionsGetter, maxBytes int,
) (map[string]genericrest.Storage, error) {
	main := k.strategy(scheme)
	limit := &sizeLimit{bytes: maxBytes}
	early := &earlySizeCheck{limit: limit}
	check := &gateCheck{resource: k.Resource(), gate: k.Closed, next: early}
	generics := &registry.Store{
		NewFunc:                   func() runtime.Object { return k.New() },
		NewListFunc:               k.NewList,
		DefaultQualifiedResource:  k.Resource(),
		SingularQualifiedResource: k.Stored.WithResource(k.Singular).GroupResource(),
		CreateStrategy:            main,
		UpdateStrategy:            main,
		DeleteStrategy:            main,
		ResetFieldsStrategy:       main,
		TableConvertor:            &tableConvertor[T]{kind: k},
		BeginCreate:               check.beginCreate,
		BeginUpdate:               check.beginUpdate,
	}
	complete := &generic.StoreOptions{RESTOptions: &limitedOptions{RESTOptionsGetter: options, limit: limit}, Indexers: byOwners()}
	if k.WatchLabel != "" {
		watchByLabel(generics, complete, k.WatchLabel, !k.ClusterScoped)
	}
	if err := generics.CompleteWithOptions(complete); err != nil {
		return nil, fmt.Errorf("open the store of %s: %w", k.Resource(), err)
	}

	// The copy shares the watch cache and etcd with the main resource. The feature gate does not apply to /status: objects that are
	// stored already can still be reported on.
	status := *generics
	statuses := &statusStrategy[T]{strategy: main}
	status.UpdateStrategy = statuses
	status.BeginUpdate = early.beginUpdate
	status.ResetFieldsStrategy = statuses

	storage := map[string]genericrest.Storage{
		k.Plural:             &store[T]{Store: generics, kind: k},
		k.Plural + "/status": &statusREST{store: &status},
	}
	if k.Scale != nil {
		scaled := *generics
		scaled.UpdateStrategy = &scaleStrategy[T]{strategy: main}
		storage[k.Plural+"/scale"] = newScaleREST(k, &scaled)
	}
	if k.Extend != nil {
		k.Extend(storage)
	}
	return storage, nil
}
